// SPDX-License-Identifier: GPL-2.0
// A copy button at commands, and tables that the keyboard can scroll.
"use strict";

// Copies without navigator.clipboard, which browsers offer only to pages from a secure origin
function copySelected(pre) {
	const range = document.createRange();
	range.selectNodeContents(pre);
	const selection = getSelection();
	selection.removeAllRanges();
	selection.addRange(range);
	return document.execCommand("copy");
}

async function copyText(pre) {
	try {
		await navigator.clipboard.writeText(pre.textContent.trimEnd());
		return true;
	} catch {
		return copySelected(pre);
	}
}

for (const pre of document.querySelectorAll("div.command pre")) {
	const button = document.createElement("button");
	button.type = "button";
	button.className = "copy";
	button.textContent = "Copy";
	button.setAttribute("aria-label", "Copy these commands");
	button.addEventListener("click", async () => {
		button.textContent = await copyText(pre) ? "Copied" : "It is selected: copy it";
		setTimeout(() => { button.textContent = "Copy"; }, 2000);
	});
	pre.closest("div.command").append(button);
}

for (const box of document.querySelectorAll("div.table, pre")) {
	if (box.scrollWidth > box.clientWidth)
		box.tabIndex = 0;
}
