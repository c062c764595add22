# SPDX-License-Identifier: GPL-2.0
# iw_tcp: software iWARP over TCP. `make help` lists the targets.
#
#   KDIR=     build directory of the kernel to build for (the running one)
#   DESTDIR=  root of the file system to install into (/)
#   RDMA_CORE=  rdma-core source for the provider (fetched through apt)
#   W=1, C=1, LLVM=1 and so on reach the kernel's build

KDIR ?= /lib/modules/$(shell uname -r)/build
DESTDIR ?=
BUILD := $(CURDIR)/build
include include/compat/kernels
KVER = $(shell sed -n 's/^.define UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
kbuild = $(MAKE) -C $(KDIR) M=$(CURDIR)
check-config = sh include/compat/check-config.sh "$(KDIR)"

# Distributions keep the key to themselves: without one, do not try to sign.
unsigned = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)

# Kernel builds are parallel unless -j says otherwise.
ifeq ($(filter -j%,$(MAKEFLAGS)),)
JOBS := -j$(shell nproc)
endif

all: modules ## build the kernel module (default)

modules: check-config
	@$(kbuild) $(JOBS) modules || { $(check-config) --failed; exit 1; }

install: modules ## install the module into the running system or DESTDIR=
	@$(kbuild) INSTALL_MOD_PATH=$(DESTDIR) $(unsigned) modules_install
	@if [ -e $(DESTDIR)/lib/modules/$(KVER)/modules.order ]; then \
		depmod $(if $(DESTDIR),-b $(DESTDIR)) $(KVER); \
	else \
		echo "no kernel $(KVER) in $(DESTDIR)/lib/modules: run depmod there"; \
	fi

provider: ## build the user space provider
	@$(MAKE) -C userspace-provider OUT=$(BUILD)/provider

provider-install: ## install the provider into the running system or DESTDIR=
	@$(MAKE) -C userspace-provider OUT=$(BUILD)/provider install

service-install: ## install what keeps links over reboots, and udev's rules
	@install -d $(DESTDIR)/usr/sbin $(DESTDIR)/usr/share/man/man8 \
		$(DESTDIR)/usr/lib/systemd/system $(DESTDIR)/usr/lib/udev/rules.d \
		$(DESTDIR)/usr/lib/sysusers.d
	@sed 's/@KERNEL_OLDEST@/$(KERNEL_OLDEST)/; s/@KERNEL_NEWEST@/$(KERNEL_NEWEST)/' service/iw_tcp-link | \
		install -m 755 /dev/stdin $(DESTDIR)/usr/sbin/iw_tcp-link
	@install -m 644 service/iw_tcp@.service $(DESTDIR)/usr/lib/systemd/system/
	@install -m 644 service/*.rules $(DESTDIR)/usr/lib/udev/rules.d/
	@install -m 644 service/iw_tcp.conf $(DESTDIR)/usr/lib/sysusers.d/
	@install -m 644 service/*.8 $(DESTDIR)/usr/share/man/man8/

deb: ## Debian packages for Debian 12 and 13, into build/packages; SUITES= (bookworm trixie)
	@tests/packages/build $(SUITES)

dist: ## the source archive with the documents as HTML, into build/dist
	@release/dist

patches: ## patches for Linux 7.2 and rdma-core 65.0, into build/patches
	@release/patches

check-config: ## say what keeps the module from being built for the kernel, if anything
	@$(check-config)

demo: ## two hosts in a virtual machine, perftest between them
	@tests/vm/demo

test: ## one selftest in a laboratory: T= its name (verify), LAB= (uml), TIME= seconds (600), ARGS=
	@tests/vm/run --lab $(or $(LAB),uml) --time $(or $(TIME),600) tests/selftests/$(or $(T),verify).sh $(ARGS)

check: ## every selftest, each in one laboratory or more
	@tests/check

check-long: ## what searches for hours, and all selftests in the other laboratories
	@tests/check --long

suites: ## applications in a laboratory, each in a machine of its own; LAB= (6.12), S= names, ARGS= of tests/suites/run
	@tests/suites/run --lab $(or $(LAB),6.12) $(ARGS) $(S)

conformance: ## every row of the RFCs against a raw peer; ARGS= of tests/conformance
	@tests/conformance $(ARGS)

conformance-paths: ## the same rows over IPv4 and IPv6, all MTUs, loss, reordering, duplication, a proxy
	@tests/check --paths

torture: ## random messages in random segments, compared with a model; TIME= seconds, ARGS= of tests/peer/torture.py
	@tests/vm/run --lab $(or $(LAB),uml) --time $$(($(or $(TIME),600) + 300)) \
		tests/selftests/torture.sh --time $(or $(TIME),600) $(ARGS)

fuzz-abi: ## everything that a process can do with a device, with mutations; TIME= seconds, ARGS= of tests/selftests/fuzz_abi.sh
	@tests/vm/run --lab $(or $(LAB),debug) --time $$(($(or $(TIME),600) + 600)) \
		tests/selftests/fuzz_abi.sh --time $(or $(TIME),600) $(ARGS)

mutate: ## does a test notice it if one line of the driver changes? ARGS= of tests/mutate/run.py
	@nice -n 5 tests/mutate/run.py $(or $(ARGS),proto)

soak: ## everything at once at random, for long; TIME= seconds, ARGS= of tests/soak/soak.sh
	@tests/vm/run --lab $(or $(LAB),debug) --time $$(($(or $(TIME),600) + 1200)) \
		tests/soak/soak.sh --time $(or $(TIME),600) $(ARGS)

bench: ## measure, beside siw, rxe and TCP; QUICK=1, or CASES= of tests/perf
	@tests/perf/bench $(if $(QUICK),--quick) $(CASES)

unit: ## tests of the protocol layer in user space
	@$(MAKE) -C tests/unit check

fuzz: ## fuzz the protocol layer; TIME= seconds per target
	@$(MAKE) -C tests/fuzz check $(if $(TIME),TIME=$(TIME))

selftest: ## the selftests on this machine, as root, with what is installed
	@$(MAKE) -C tests/selftests run_tests

style: ## checkpatch, sparse, all compiler warnings, kernel-doc, layers, documents
	@tests/style "$(KDIR)"

docs: ## Documentation/ as HTML, into build/docs; a warning is an error
	@command -v sphinx-build >/dev/null || \
		{ echo "make docs needs Sphinx: apt install python3-sphinx" >&2; exit 1; }
	@rm -rf $(BUILD)/docs
	@sphinx-build -q -E -n -W --keep-going -b html -d $(BUILD)/doctrees Documentation $(BUILD)/docs
	@echo $(BUILD)/docs/index.html

clean: ## remove what was built, and reports
	@if [ -e $(KDIR)/Makefile ]; then $(kbuild) clean; fi
	@rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

.PHONY: all modules install provider provider-install service-install \
	deb dist patches check-config demo test check check-long suites \
	conformance conformance-paths torture fuzz-abi soak bench unit mutate fuzz selftest style docs \
	clean help
