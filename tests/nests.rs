//! The nests of all kinds of spaces. Every scan here is verified: the scanned set equals the space.

mod study;

use insta::assert_snapshot;
use siskin::iterspace::{compose, loop_order};
use study::{names, program, study};

#[test]
fn csr_by_rows_needs_no_search() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csr", "").nest(), @"");
}

#[test]
fn csr_by_columns_finds_the_column_in_each_row() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csr", "j").nest(), @"");
}

#[test]
fn a_dot_product_of_sparse_vectors_finds_the_second() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=sparse", "").nest(), @"");
}

#[test]
fn a_dot_product_with_the_second_vector_outside_finds_the_first() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=sparse", "pb").nest(), @"");
}

#[test]
fn spmspv_finds_the_vector_position() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "").nest(), @"");
}

#[test]
fn spmspv_with_the_vector_outside_finds_the_matrix_position() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "j").nest(), @"");
}

#[test]
fn bcsr_runs_through_blocks_cut_off_at_the_extents() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=bcsr(2,3)", "").nest(), @"");
}

#[test]
fn bcsr_by_columns_finds_the_block() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=bcsr(2,3)", "j,i").nest(), @"");
}

#[test]
fn a_block_of_bcsr_is_found_for_a_csr_entry() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=bcsr(2,2)", "").nest(), @"");
}

#[test]
fn blocks_of_another_size_are_found() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=bcsr(2,2) B=bcsr(3,3)", "").nest(), @"");
}

#[test]
fn a_lower_triangle_is_a_condition_on_the_column() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j] if j <= i", "A=csr", "").nest(), @"");
}

#[test]
fn a_restriction_of_loop_indices_tightens_the_bounds() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j] if j <= i", "", "").nest(), @"");
}

#[test]
fn a_restriction_that_is_no_conjunction_is_a_guard_where_it_is_known() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j] if j < i or i < j", "A=csr", "").nest(), @"");
}

#[test]
fn a_tile_is_an_affine_subscript() {
    assert_snapshot!(study("s += a[8*t + r]", "", "").nest(), @"");
}

#[test]
fn runs_of_rle_are_loops_over_coordinates() {
    assert_snapshot!(study("s += a[i]", "a=@rle", "").nest(), @"");
}

#[test]
fn a_run_is_found_for_a_coordinate() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@rle", "").nest(), @"");
}

#[test]
fn diagonals_are_cut_off_at_the_extents() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=@dia", "").nest(), @"");
}

#[test]
fn the_diagonals_that_meet_a_row_are_found() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=@dia", "i").nest(), @"");
}

#[test]
fn ell_reads_an_index_array_of_two_arguments() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=@ell", "").nest(), @"");
}

#[test]
fn the_diagonal_of_csr_is_a_find() {
    assert_snapshot!(study("s += A[i,i]", "A=csr", "").nest(), @"");
}

#[test]
fn the_diagonal_of_coo_is_a_condition() {
    assert_snapshot!(study("s += A[i,i]", "A=coo", "").nest(), @"");
}

#[test]
fn skyline_coordinates_follow_from_the_end_of_the_row() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=@skyline", "").nest(), @"");
}

#[test]
fn skyline_by_columns_solves_the_position() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=@skyline", "j").nest(), @"");
}

#[test]
fn variable_blocks_are_loops_over_positions() {
    assert_snapshot!(study("s += a[i]", "a=@vbl", "").nest(), @"");
}

#[test]
fn a_variable_block_is_found_for_a_coordinate() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@vbl", "").nest(), @"");
}

#[test]
fn spgemm_needs_no_bounds_on_columns_read_from_an_array() {
    assert_snapshot!(study("C[i,j] += A[i,k] * B[k,j]", "A=csr B=csr", "").nest(), @"");
}

#[test]
fn mttkrp_runs_through_the_tree() {
    assert_snapshot!(study("A[i,j] += B[i,k,l] * D[k,j] * E[l,j]", "B=csf", "").nest(), @"");
}

#[test]
fn coo_binds_all_coordinates_of_an_entry() {
    assert_snapshot!(study("C[i,j] += A[i,j] * B[i,j]", "A=coo B=coo", "").nest(), @"");
}

#[test]
fn coo_in_the_other_order_finds_entries() {
    assert_snapshot!(study("y[i] += A[i,j]", "A=coo", "j,i").nest(), @"");
}

#[test]
fn csc_by_rows_finds_the_row_in_each_column() {
    assert_snapshot!(study("y[i] += A[i,j] * x[j]", "A=csc", "i,j").nest(), @"");
}

#[test]
fn a_matrix_times_itself_shares_its_arrays() {
    assert_snapshot!(study("C[i,j] += A[i,k] * A[k,j]", "A=csr", "").nest(), @"");
}

#[test]
fn scaled_coordinates_are_solved_with_a_stride_test() {
    assert_snapshot!(study("s += a[i] * b[3*i + 1]", "b=sparse", "").nest(), @"");
}

#[test]
fn a_dense_index_of_a_sparse_vector_with_gaps_is_found() {
    assert_snapshot!(study("s += a[i] * b[i]", "a=sparse b=@even", "").nest(), @"");
}

