// SPDX-License-Identifier: GPL-2.0
// Searches the sections of all pages. texts.js defines TEXTS, which contains [address, page,
// heading, text] for each section.
"use strict";

const MOST = 60;
const AROUND = 110;

// Returns the score of a section; the results begin with the highest score. A section that does not
// contain all words has the score 0. The whole query gives many points, in the heading more than in
// the text; each word gives a few points.
function scoreOf(query, words, [, page, heading, text]) {
	const head = (page + " " + heading).toLowerCase(), body = text.toLowerCase();
	if (!words.every(word => head.includes(word) || body.includes(word)))
		return 0;
	let score = 1 + (head.includes(query) ? 200 : 0) + (body.includes(query) ? 100 : 0);
	for (const word of words)
		score += (head.includes(word) ? 10 : 0) + Math.min(body.split(word).length - 1, 5);
	return score;
}

function marked(text, words) {
	const out = document.createElement("p");
	const any = new RegExp("(" + words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
	text.split(any).forEach((part, i) => {
		const node = document.createElement(i % 2 ? "mark" : "span");
		node.textContent = part;
		out.append(node);
	});
	return out;
}

function excerpt(query, words, text) {
	const lower = text.toLowerCase();
	const whole = lower.indexOf(query);
	let at = whole;
	for (const word of words)
		at = at < 0 ? lower.indexOf(word) : at;
	at = Math.max(at, 0);
	// begin and end the excerpt between words
	const from = text.lastIndexOf(" ", Math.max(at - AROUND, 0)) + 1;
	const end = text.indexOf(" ", at + query.length + AROUND), to = end < 0 ? text.length : end;
	return marked((from ? "... " : "") + text.slice(from, to) + (to < text.length ? " ..." : ""),
		whole >= 0 ? [query] : words);
}

function search(asked) {
	const query = asked.trim().toLowerCase().replace(/^["']|["']$/g, "").replace(/\s+/g, " ");
	const words = query.split(" ").filter(Boolean);
	const found = document.getElementById("found"), list = document.getElementById("results");
	if (!words.length)
		return;
	const hits = TEXTS.map(entry => [scoreOf(query, words, entry), entry]).filter(hit => hit[0])
		.sort((a, b) => b[0] - a[0]);
	found.textContent = hits.length ? hits.length + (hits.length === 1 ? " section has" : " sections have") +
		" these words" + (hits.length > MOST ? "; the first " + MOST + " are:" : ":") : "No section has all of these words.";
	for (const [, [address, page, heading, text]] of hits.slice(0, MOST)) {
		const item = document.createElement("li"), link = document.createElement("a");
		link.href = address;
		link.textContent = heading === page ? page : page + ": " + heading;
		item.append(link, excerpt(query, words, text));
		list.append(item);
	}
}

const asked = new URLSearchParams(location.search).get("q") || "";
for (const input of document.querySelectorAll("input[name=q]"))
	input.value = asked;
search(asked);
