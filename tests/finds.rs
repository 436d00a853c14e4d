//! The finds of SPF §6.2 and Appendix A and their kin, decided by Z3 with isl as second opinion.
//!
//! Each case shows every template with its arguments (direction, *continue* condition, whether the
//! walk resumes after a match, state indices), or why it is refuted: small concrete arrays.

mod study;

use insta::assert_snapshot;
use study::study;

#[test]
fn c01_increasing_in_increasing() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=sparse", "").verdicts(), @"");
}

#[test]
fn c02_decreasing_in_decreasing() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=@decreasing b=@decreasing", "").verdicts(), @"");
}

#[test]
fn c03_increasing_in_decreasing() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@decreasing", "").verdicts(), @"");
}

#[test]
fn c04_decreasing_in_increasing() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=@decreasing b=sparse", "").verdicts(), @"");
}

#[test]
fn c05_increasing_in_unsorted() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@unsorted", "").verdicts(), @"");
}

#[test]
fn c06_unsorted_in_increasing() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=@unsorted b=sparse", "").verdicts(), @"");
}

#[test]
fn c07_weakly_increasing_in_increasing() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=@weak b=sparse", "").verdicts(), @"");
}

#[test]
fn c08_increasing_in_weakly_increasing() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@weak", "").verdicts(), @"");
}

#[test]
fn c09_duplicates_in_any_order() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=@bag b=@bag", "").verdicts(), @"");
}

#[test]
fn c10_only_even_coordinates() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@even", "").verdicts(), @"");
}

#[test]
fn c11_csr_rows_in_a_sparse_vector() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "").verdicts(), @"");
}

#[test]
fn c12_a_sparse_vector_in_csr_rows() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "pA0,px").verdicts(), @"");
}

#[test]
fn c13_a_sparse_vector_in_csr_rows_vector_outside() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "px,pA0").verdicts(), @"");
}

#[test]
fn c14_coo_in_coo() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=coo B=coo", "").verdicts(), @"");
}

#[test]
fn c15_coo_in_dcsr() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=coo B=dcsr", "").verdicts(), @"");
}

#[test]
fn c16_coo_in_csr() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=coo B=csr", "").verdicts(), @"");
}

#[test]
fn c17_csr_in_blocks() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=bcsr(2,2)", "").verdicts(), @"");
}

#[test]
fn c18_blocks_in_a_sparse_vector() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=bcsr(2,2) x=sparse", "").verdicts(), @"");
}

#[test]
fn c19_blocks_in_csr() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=bcsr(2,2) B=csr", "").verdicts(), @"");
}

#[test]
fn c20_increasing_in_runs() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@rle", "").verdicts(), @"");
}

#[test]
fn c21_csr_in_csc() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=csc", "").verdicts(), @"");
}

#[test]
fn c22_dcsr_in_dcsr() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=dcsr B=dcsr", "").verdicts(), @"");
}

#[test]
fn c23_csr_in_csr() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=csr", "").verdicts(), @"");
}

#[test]
fn c24_unsorted_coo_in_unsorted_coo() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=coo-unsorted B=coo-unsorted", "").verdicts(), @"");
}

#[test]
fn c25_variable_blocks() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@vbl", "").verdicts(), @"");
}

#[test]
fn c26_rows_of_ell_in_a_sparse_vector() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=@ell x=sparse", "").verdicts(), @"");
}

#[test]
fn c27_three_vectors_of_three_orders() {
    assert_snapshot!(study("s += a[i] * b[i] * c[i]", "a=sparse b=@decreasing c=@unsorted", "").verdicts(), @"");
}

#[test]
fn c28_contradiction() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@contradictory", "").verdicts(), @"");
}

