.POSIX:
.PHONY: demo test fuzz fuzz-formats miri setup bench fmt lint

# A stiffness matrix times a sparse vector: what was proved, and how fast it ran.
demo: setup
	cargo run --release --quiet -- run 'y[i] += A[i,j] * x[j]' \
	    -t A=tests/data/bcsstk13.mtx.gz:csr -t x=tests/data/x2003.mtx:sparse

test: setup
	cargo test

# Autotools, a C++ linker and Z3, where they are missing.
setup:
	@bash scripts/setup

# More random kernels than the tests run: make fuzz CASES=100000 SEED=1
CASES = 10000
SEED = 1
fuzz: setup
	SISKIN_FUZZ_CASES=$(CASES) SISKIN_FUZZ_SEED=$(SEED) cargo test --test fuzz -- --nocapture

# The same for random declarations of formats.
fuzz-formats: setup
	SISKIN_FUZZ_CASES=$(CASES) SISKIN_FUZZ_SEED=$(SEED) cargo test --test random_formats -- --nocapture

# Emitted modules, those of every shipped template among them, in Miri (rustup component add miri
# --toolchain nightly).
miri: setup
	SISKIN_MIRI=1 cargo test --test unsafe_code

bench: setup
	cargo bench

fmt:
	cargo fmt

lint:
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
