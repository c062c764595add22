# SPDX-License-Identifier: GPL-2.0
# iw_tcp: software iWARP over TCP. `make help` lists the targets.
#
#   KDIR=       build directory of the kernel for which the module is built (default: the running
#               kernel)
#   DESTDIR=    root of the file system in which the files are installed (default: /)
#   RDMA_CORE=  rdma-core source for the provider (default: fetched with apt)
#   W=1, C=1, LLVM=1 and so on are passed to the kernel's build

KDIR ?= /lib/modules/$(shell uname -r)/build
DESTDIR ?=
BUILD := $(CURDIR)/build
include include/compat/kernels
KVER = $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
# Recipes with this variable begin with +, because make recognizes only $(MAKE) itself as another make
kbuild = $(MAKE) -C $(KDIR) M=$(CURDIR)
check-config = sh include/compat/check-config.sh "$(KDIR)"

# Distributions do not publish the key with which they sign modules. If KDIR has no key, do not sign
# the module.
unsigned = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)

# The directory in which modules_install installs the module of a kernel. Without this variable,
# modules_install of Linux 6.1 uses extra, and that of newer kernels uses updates. The same directory
# for all kernels lets "make uninstall" find the modules. depmod prefers modules in updates.
INSTALL_MOD_DIR ?= updates
MODULE_DIR = $(INSTALL_MOD_DIR)/drivers/infiniband/sw/iw_tcp

# Without the option -j, build the module with one process for each processor. (While make before
# 4.4 reads this file, MAKEFLAGS lacks -j, so JOBS is expanded later, in the recipe.)
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

all: modules ## build the kernel module (default)

modules: check-config
	+@$(kbuild) $(JOBS) modules || { $(check-config) --failed; exit 1; }

install: modules ## install the module into the running system or DESTDIR=
	+@$(kbuild) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) $(unsigned) modules_install
	@if [ -e $(DESTDIR)/lib/modules/$(KVER)/modules.order ]; then \
		depmod $(if $(DESTDIR),-b $(DESTDIR)) $(KVER); \
	else \
		echo "no kernel $(KVER) in $(DESTDIR)/lib/modules: run depmod there"; \
	fi

provider: ## build the user space provider
	@$(MAKE) -C userspace-provider OUT=$(BUILD)/provider

provider-install: ## install the provider into the running system or DESTDIR=
	@$(MAKE) -C userspace-provider OUT=$(BUILD)/provider install

service-install: ## install iw_tcp-link, the systemd unit that adds links after a boot, and the udev rules
	@install -d $(addprefix $(DESTDIR)/usr/, sbin lib/iw_tcp share/man/man5 share/man/man8 \
		share/bash-completion/completions share/doc/iw-tcp/examples lib/systemd/system \
		lib/udev/rules.d lib/sysusers.d)
	@sed 's/@KERNEL_OLDEST@/$(KERNEL_OLDEST)/; s/@KERNEL_NEWEST@/$(KERNEL_NEWEST)/; s/@KERNEL_TESTED@/$(KERNEL_TESTED)/; s/@KERNEL_UNFIT@/$(KERNEL_UNFIT)/' \
		service/iw_tcp-link | \
		install -m 755 /dev/stdin $(DESTDIR)/usr/sbin/iw_tcp-link
	@install -m 644 service/status.sh $(DESTDIR)/usr/lib/iw_tcp/
	@install -m 644 service/*.service $(DESTDIR)/usr/lib/systemd/system/
	@install -m 644 service/*.rules $(DESTDIR)/usr/lib/udev/rules.d/
	@install -m 644 service/iw_tcp.conf $(DESTDIR)/usr/lib/sysusers.d/
	@install -m 644 service/*.5 $(DESTDIR)/usr/share/man/man5/
	@install -m 644 service/*.8 $(DESTDIR)/usr/share/man/man8/
	@install -m 644 service/completion.bash $(DESTDIR)/usr/share/bash-completion/completions/iw_tcp-link
	@install -m 644 service/examples/* $(DESTDIR)/usr/share/doc/iw-tcp/examples/

uninstall: ## remove what the three targets above have installed, of all kernels
	@for ko in $(DESTDIR)/lib/modules/*/$(MODULE_DIR)/iw_tcp.ko*; do \
		[ -e "$$ko" ] || continue; \
		kernel=$${ko#$(DESTDIR)/lib/modules/}; kernel=$${kernel%%/*}; \
		rm "$$ko"; \
		(cd "$(DESTDIR)/lib/modules/$$kernel" && \
			rmdir -p --ignore-fail-on-non-empty $(MODULE_DIR)); \
		[ ! -e "$(DESTDIR)/lib/modules/$$kernel/modules.order" ] || \
			depmod $(if $(DESTDIR),-b $(DESTDIR)) "$$kernel"; \
	done
	@$(MAKE) -C userspace-provider OUT=$(BUILD)/provider uninstall
	@rm -f $(DESTDIR)/usr/sbin/iw_tcp-link \
		$(patsubst service/%,$(DESTDIR)/usr/lib/systemd/system/%,$(wildcard service/*.service)) \
		$(patsubst service/%,$(DESTDIR)/usr/lib/udev/rules.d/%,$(wildcard service/*.rules)) \
		$(patsubst service/%,$(DESTDIR)/usr/lib/sysusers.d/%,$(wildcard service/*.conf)) \
		$(patsubst service/%,$(DESTDIR)/usr/share/man/man8/%,$(wildcard service/*.8)) \
		$(patsubst service/%,$(DESTDIR)/usr/share/man/man5/%,$(wildcard service/*.5)) \
		$(patsubst service/%,$(DESTDIR)/usr/share/doc/iw-tcp/%,$(wildcard service/examples/*)) \
		$(DESTDIR)/usr/share/bash-completion/completions/iw_tcp-link \
		$(DESTDIR)/usr/lib/iw_tcp/status.sh
	@for dir in lib/iw_tcp share/doc/iw-tcp/examples share/doc/iw-tcp; do \
		[ ! -d "$(DESTDIR)/usr/$$dir" ] || rmdir --ignore-fail-on-non-empty "$(DESTDIR)/usr/$$dir"; \
	done

repo: ## make an apt repository, in build/repo; RELEASE= (the running one), REPO= its directory, ALSO=arm64
	@release/repo "$(RELEASE)" "$(REPO)" "$(ALSO)"

deb: ## build packages for Debian 12 and 13, into build/packages; SUITES= (bookworm trixie)
	@tests/packages/build $(SUITES)

dist: ## make the source archive, with the documents as HTML, in build/dist
	@release/dist

patches: ## make the patches for Linux 7.2 and rdma-core 65.0, in build/patches
	@release/patches

check-config: ## check that the module can be built for the kernel, and print what is missing
	@$(check-config)

demo: ## run RDMA programs and NFS between two hosts in a virtual machine
	@tests/vm/demo

test: ## run the selftest T= (verify) in the laboratory LAB= (uml); TIME= seconds (600), ARGS= of the selftest
	@tests/vm/run --lab $(or $(LAB),uml) --time $(or $(TIME),600) tests/selftests/$(or $(T),verify).sh $(ARGS)

check: ## run all tests: every selftest in one or more laboratories, unit tests, short fuzzing
	@tests/check

check-long: ## run the tests that take hours, and all selftests in the other laboratories
	@tests/check --long

suites: ## test applications, each in a separate machine; LAB= (6.12), S= names, ARGS= of tests/suites/run
	@tests/suites/run --lab $(or $(LAB),6.12) $(ARGS) $(S)

conformance: ## test every requirement (row) of the RFCs with a raw peer; ARGS= of tests/conformance
	@tests/conformance $(ARGS)

conformance-paths: ## test the same rows with IPv4, IPv6, several MTUs, loss, reordering, duplication, a proxy
	@tests/check --paths

torture: ## send random messages in random segments, and compare with a model; TIME= seconds (600), ARGS= of tests/peer/torture.py
	@tests/vm/run --lab $(or $(LAB),uml) --time $$(($(or $(TIME),600) + 300)) \
		tests/selftests/torture.sh --time $(or $(TIME),600) $(ARGS)

fuzz-abi: ## fuzz the calls of a process to the device; TIME= seconds (600), ARGS= of tests/selftests/fuzz_abi.sh
	@tests/vm/run --lab $(or $(LAB),debug) --time $$(($(or $(TIME),600) + 600)) \
		tests/selftests/fuzz_abi.sh --time $(or $(TIME),600) $(ARGS)

mutate: ## change one line of the driver or the provider at a time, and check that a test fails; ARGS= of tests/mutate/run.py
	@nice -n 5 tests/mutate/run.py $(or $(ARGS),proto)

soak: ## run all kinds of traffic and events at random; TIME= seconds (600), ARGS= of tests/soak/soak.sh
	@tests/vm/run --lab $(or $(LAB),debug) --time $$(($(or $(TIME),600) + 1200)) \
		tests/soak/soak.sh --time $(or $(TIME),600) $(ARGS)

bench: ## measure the speed of iw_tcp, siw, rxe and TCP; QUICK=1, or CASES= of tests/perf
	@tests/perf/bench $(if $(QUICK),--quick) $(CASES)

unit: ## run the unit tests of the protocol layer, in user space
	@$(MAKE) -C tests/unit check

fuzz: ## fuzz the protocol layer; TIME= seconds for each target
	@$(MAKE) -C tests/fuzz check $(if $(TIME),TIME=$(TIME))

selftest: ## run the selftests on this machine, as root, with the installed module and provider
	@$(MAKE) -C tests/selftests run_tests

style: ## check the sources: checkpatch, sparse, compiler warnings, kernel-doc, layers, documents
	@tests/style "$(KDIR)"

docs: ## make Documentation/ as HTML, in build/docs; a warning is an error
	@command -v sphinx-build >/dev/null || \
		{ echo "make docs needs Sphinx: apt install python3-sphinx" >&2; exit 1; }
	@rm -rf $(BUILD)/docs
	@sphinx-build -q -E -n -W --keep-going -b html -d $(BUILD)/doctrees Documentation $(BUILD)/docs
	@find $(BUILD)/docs -type d -empty -delete	# Sphinx 9 makes _sources, even if it stays empty
	@echo $(BUILD)/docs/index.html

clean: ## remove all built files and reports
	+@if [ -e $(KDIR)/Makefile ]; then $(kbuild) clean; fi
	@rm -rf $(BUILD)

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

.PHONY: all modules install provider provider-install service-install uninstall \
	repo deb dist patches check-config demo test check check-long suites \
	conformance conformance-paths torture fuzz-abi soak bench unit mutate fuzz selftest style docs \
	clean help
