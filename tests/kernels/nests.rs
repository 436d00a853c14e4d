//! The nests of all kinds of spaces. Every scan here is verified: the scanned set equals the space.

use crate::study::{names, program, scanned};
use insta::assert_snapshot;
use siskin::iterspace::compose;
use siskin::schedule::schedule;

#[test]
fn csr_by_rows_needs_no_search() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=csr", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        let j = crd_A(pA1)
        S
    ");
}

#[test]
fn csr_by_columns_finds_the_column_in_each_row() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=csr", "j").nest(), @r"
    for j in 0..J
      for pA0 in 0..I
        let i = pA0
        find pA1 in pos_A(pA0)..pos_A(pA0 + 1) where j = crd_A(pA1)
          S
    ");
}

#[test]
fn a_dot_product_of_sparse_vectors_finds_the_second() {
    assert_snapshot!(scanned("s += a[i] * b[i]", "a=sparse b=sparse", "").nest(), @r"
    for pa in 0..NNZ_a
      let i = crd_a(pa)
      find pb in 0..NNZ_b where i = crd_b(pb)
        S
    ");
}

#[test]
fn a_dot_product_with_the_second_vector_outside_finds_the_first() {
    assert_snapshot!(scanned("s += a[i] * b[i]", "a=sparse b=sparse", "pb").nest(), @r"
    for pb in 0..NNZ_b
      let i = crd_b(pb)
      find pa in 0..NNZ_a where i = crd_a(pa)
        S
    ");
}

#[test]
fn spmspv_finds_the_vector_position() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        let j = crd_A(pA1)
        find px in 0..NNZ_x where j = crd_x(px)
          S
    ");
}

#[test]
fn spmspv_with_the_vector_outside_finds_the_matrix_position() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "j").nest(), @r"
    for px in 0..NNZ_x
      let j = crd_x(px)
      for pA0 in 0..I
        let i = pA0
        find pA1 in pos_A(pA0)..pos_A(pA0 + 1) where j = crd_A(pA1)
          S
    ");
}

#[test]
fn bcsr_runs_through_blocks_cut_off_at_the_extents() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=bcsr(2,3)", "").nest(), @r"
    for pA0 in 0..floor((I + 1)/2)
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        for pA2 in 0..min(2, I - 2*pA0)
          let i = 2*pA0 + pA2
          for pA3 in 0..min(3, J - 3*crd_A(pA1))
            let j = pA3 + 3*crd_A(pA1)
            S
    ");
}

#[test]
fn bcsr_by_columns_finds_the_block() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=bcsr(2,3)", "j,i").nest(), @r"
    for j in 0..J
      for pA0 in 0..floor((I + 1)/2)
        find pA1 in pos_A(pA0)..pos_A(pA0 + 1) where 3*crd_A(pA1) <= j <= 3*crd_A(pA1) + 2
          for pA2 in 0..min(2, I - 2*pA0)
            let i = 2*pA0 + pA2
            let pA3 = j - 3*crd_A(pA1)
            S
    ");
}

#[test]
fn a_block_of_bcsr_is_found_for_a_csr_entry() {
    assert_snapshot!(scanned("C[i,j] += A[i,j] * B[i,j]", "A=csr B=bcsr(2,2)", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      let pB0 = floor(i/2)
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        let j = crd_A(pA1)
        find pB1 in pos_B(pB0)..pos_B(pB0 + 1) where 2*crd_B(pB1) <= j <= 2*crd_B(pB1) + 1
          let pB2 = i - 2*pB0
          let pB3 = j - 2*crd_B(pB1)
          S
    ");
}

#[test]
fn blocks_of_another_size_are_found() {
    assert_snapshot!(scanned("C[i,j] += A[i,j] * B[i,j]", "A=bcsr(2,2) B=bcsr(3,3)", "").nest(), @r"
    for pA0 in 0..floor((I + 1)/2)
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        for pA2 in 0..min(2, I - 2*pA0)
          let i = 2*pA0 + pA2
          let pB0 = floor(i/3)
          for pA3 in 0..min(2, J - 2*crd_A(pA1))
            let j = pA3 + 2*crd_A(pA1)
            find pB1 in pos_B(pB0)..pos_B(pB0 + 1) where 3*crd_B(pB1) <= j <= 3*crd_B(pB1) + 2
              let pB2 = i - 3*pB0
              let pB3 = j - 3*crd_B(pB1)
              S
    ");
}

#[test]
fn a_lower_triangle_is_a_condition_on_the_column() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j] if j <= i", "A=csr", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      find pA1 in pos_A(pA0)..pos_A(pA0 + 1) where crd_A(pA1) <= i
        let j = crd_A(pA1)
        S
    ");
}

#[test]
fn a_restriction_of_loop_indices_tightens_the_bounds() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j] if j <= i", "", "").nest(), @r"
    for i in 0..I
      for j in 0..min(J, i + 1)
        S
    ");
}

#[test]
fn a_restriction_that_is_no_conjunction_is_a_guard_where_it_is_known() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j] if j < i or i < j", "A=csr", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        let j = crd_A(pA1)
        if (j < i or i < j)
          S
    ");
}

#[test]
fn a_tile_is_an_affine_subscript() {
    // The loop of the smaller steps through memory is the inner one.
    assert_snapshot!(scanned("s += a[8*t + r]", "", "").nest(), @r"
    for t in 0..T
      for r in 0..min(R, N0_a - 8*t)
        S
    ");
}

#[test]
fn runs_of_rle_are_loops_over_coordinates() {
    assert_snapshot!(scanned("s += a[i]", "a=run-length", "").nest(), @r"
    for pa in 0..RUNS_a
      for i in left_a(pa)..right_a(pa)
        S
    ");
}

#[test]
fn a_run_is_found_for_a_coordinate() {
    assert_snapshot!(scanned("s += a[i] * b[i]", "a=sparse b=run-length", "").nest(), @r"
    for pa in 0..NNZ_a
      let i = crd_a(pa)
      find pb in 0..RUNS_b where left_b(pb) <= i < right_b(pb)
        S
    ");
}

#[test]
fn diagonals_are_cut_off_at_the_extents() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=dia", "").nest(), @r"
    for pA0 in 0..D_A
      for pA1 in max(0, -offset_A(pA0))..min(I, J - offset_A(pA0))
        let i = pA1
        let j = pA1 + offset_A(pA0)
        S
    ");
}

#[test]
fn the_diagonals_that_meet_a_row_are_found() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=dia", "i").nest(), @r"
    for i in 0..I
      find pA0 in 0..D_A where 0 <= i + offset_A(pA0) < J
        let pA1 = i
        let j = pA1 + offset_A(pA0)
        S
    ");
}

#[test]
fn ell_reads_an_index_array_of_two_arguments() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=ell", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      for pA1 in 0..len_A(pA0)
        let j = crd_A(pA0, pA1)
        S
    ");
}

#[test]
fn the_diagonal_of_csr_is_a_find() {
    assert_snapshot!(scanned("s += A[i,i]", "A=csr", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      find pA1 in pos_A(pA0)..pos_A(pA0 + 1) where i = crd_A(pA1)
        S
    ");
}

#[test]
fn the_diagonal_of_coo_is_a_condition() {
    assert_snapshot!(scanned("s += A[i,i]", "A=coo", "").nest(), @r"
    for pA in 0..P0_A
      let i = crd0_A(pA)
      if i = crd1_A(pA)
        S
    ");
}

#[test]
fn skyline_coordinates_follow_from_the_end_of_the_row() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=skyline", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      for pA1 in pos_A(pA0)..min(pos_A(pA0 + 1), J + pos_A(pA0 + 1) - pA0 - 1)
        let j = pA0 + pA1 - pos_A(pA0 + 1) + 1
        S
    ");
}

#[test]
fn skyline_by_columns_solves_the_position() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=skyline", "j").nest(), @r"
    for j in 0..J
      find pA0 in j..min(I, NNZ_A + j) where pA0 + pos_A(pA0) < j + pos_A(pA0 + 1)
        let i = pA0
        let pA1 = j + pos_A(pA0 + 1) - pA0 - 1
        S
    ");
}

#[test]
fn variable_blocks_are_loops_over_positions() {
    assert_snapshot!(scanned("s += a[i]", "a=vbl", "").nest(), @r"
    for pa0 in 0..BLOCKS_a
      for pa1 in ofs_a(pa0)..ofs_a(pa0 + 1)
        let i = pa1 + last_a(pa0) - ofs_a(pa0 + 1) + 1
        S
    ");
}

#[test]
fn a_variable_block_is_found_for_a_coordinate() {
    assert_snapshot!(scanned("s += a[i] * b[i]", "a=sparse b=vbl", "").nest(), @r"
    for pa in 0..NNZ_a
      let i = crd_a(pa)
      find pb0 in 0..BLOCKS_b where last_b(pb0) + ofs_b(pb0) < i + ofs_b(pb0 + 1) and i <= last_b(pb0)
        let pb1 = i + ofs_b(pb0 + 1) - last_b(pb0) - 1
        S
    ");
}

#[test]
fn spgemm_needs_no_bounds_on_columns_read_from_an_array() {
    assert_snapshot!(scanned("C[i,j] += A[i,k] * B[k,j]", "A=csr B=csr", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        let k = crd_A(pA1)
        let pB0 = k
        for pB1 in pos_B(pB0)..pos_B(pB0 + 1)
          let j = crd_B(pB1)
          S
    ");
}

#[test]
fn mttkrp_runs_through_the_tree() {
    assert_snapshot!(scanned("A[i,j] += B[i,k,l] * D[k,j] * E[l,j]", "B=csf", "").nest(), @r"
    for pB0 in 0..P0_B
      let i = crd0_B(pB0)
      for pB1 in pos1_B(pB0)..pos1_B(pB0 + 1)
        let k = crd1_B(pB1)
        for pB2 in pos2_B(pB1)..pos2_B(pB1 + 1)
          let l = crd2_B(pB2)
          for j in 0..J
            S
    ");
}

#[test]
fn coo_binds_all_coordinates_of_an_entry() {
    assert_snapshot!(scanned("C[i,j] += A[i,j] * B[i,j]", "A=coo B=coo", "").nest(), @r"
    for pA in 0..P0_A
      let i = crd0_A(pA)
      let j = crd1_A(pA)
      find pB in 0..P0_B where i = crd0_B(pB) and j = crd1_B(pB)
        S
    ");
}

#[test]
fn coo_in_the_other_order_finds_entries() {
    assert_snapshot!(scanned("y[i] += A[i,j]", "A=coo", "j,i").nest(), @r"
    for j in 0..J
      find pA in 0..P0_A where j = crd1_A(pA)
        let i = crd0_A(pA)
        S
    ");
}

#[test]
fn csc_by_rows_finds_the_row_in_each_column() {
    assert_snapshot!(scanned("y[i] += A[i,j] * x[j]", "A=csc", "i,j").nest(), @r"
    for i in 0..I
      for pA0 in 0..J
        let j = pA0
        find pA1 in pos1_A(pA0)..pos1_A(pA0 + 1) where i = crd1_A(pA1)
          S
    ");
}

#[test]
fn a_matrix_times_itself_shares_its_arrays() {
    assert_snapshot!(scanned("C[i,j] += A[i,k] * A[k,j]", "A=csr", "").nest(), @r"
    for pA0 in 0..I
      let i = pA0
      for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
        let k = crd_A(pA1)
        let pA_2_0 = k
        for pA_2_1 in pos_A(pA_2_0)..pos_A(pA_2_0 + 1)
          let j = crd_A(pA_2_1)
          S
    ");
}

#[test]
fn scaled_coordinates_are_solved_with_a_stride_test() {
    assert_snapshot!(scanned("s += a[i] * b[3*i + 1]", "b=sparse", "").nest(), @r"
    for pb in 0..NNZ_b
      let i = floor((crd_b(pb) + 2)/3) - 1
      if 0 <= i < I and crd_b(pb) = 3*i + 1
        S
    ");
}

#[test]
fn a_dense_index_of_a_sparse_vector_with_gaps_is_found() {
    assert_snapshot!(scanned("s += a[i] * b[i]", "a=sparse b=@even", "").nest(), @r"
    for pa in 0..NNZ_a
      let i = crd_a(pa)
      find pb in 0..NNZ_b where i = 2*half_b(pb)
        S
    ");
}

#[test]
fn without_a_declared_range_the_bounds_are_tested() {
    assert_snapshot!(scanned("y[i] += x[i] * z[i]", "x=@unbounded", "").nest(), @r"
    for px in 0..NNZ_x
      let i = crd_x(px)
      if 0 <= i < I
        S
    ");
    assert_snapshot!(scanned("y[i] += x[i] * z[i]", "x=@bag", "").nest(), @r"
    for px in 0..NNZ_x
      let i = crd_x(px)
      S
    ");
}

#[test]
fn a_size_that_an_array_defines_replaces_the_read() {
    // `pos0(0) = 0` and `P0 = pos0(1)`: the outermost compressed level needs no read.
    let study = scanned("s += A[i,j]", "A=dcsr", "");
    assert_snapshot!(study.space_and_nest(), @r"
    { [pA0, i, pA1, j] : 0 <= i < I and 0 <= j < J and pos0_A(0) <= pA0 < pos0_A(1) and i = crd0_A(pA0) and pos1_A(pA0) <= pA1 < pos1_A(pA0 + 1) and j = crd1_A(pA1) }
    for pA0 in 0..P0_A
      let i = crd0_A(pA0)
      for pA1 in pos1_A(pA0)..pos1_A(pA0 + 1)
        let j = crd1_A(pA1)
        S
    ");
}

#[test]
fn contradictory_properties_do_not_remove_conditions() {
    assert_snapshot!(scanned("s += a[i] * b[i]", "a=sparse b=@contradictory", "").nest(), @r"
    for pa in 0..NNZ_a
      let i = crd_a(pa)
      if 0 <= i < I
        find pb in 0..NNZ_b where i = crd_b(pb)
          S
    ");
}

fn refused(expression: &str, layouts: &str, order: &str) -> String {
    let (program, layouts) = program(expression, layouts);
    let space = compose(&program, &layouts, None).unwrap().remove(0);
    let error = schedule(&space, &names(order)).expect_err("no such order");
    assert_eq!(error.code, siskin::diagnostic::Code::LoopOrder);
    let help = error.help.expect("a remedy");
    format!("{}\n{}\n{help}", error.message, error.notes.join("\n"))
}

#[test]
fn an_order_against_the_storage_is_refused_with_its_cycle() {
    assert_snapshot!(refused("y[i] += A[i,j] * x[j]", "A=csr", "pA1,pA0"), @r"
    impossible loop order: pA1 before pA0 before pA1 is a cycle
    the order asks for pA1 before pA0
    pA0 comes before pA1 because pos_A(pA0) <= pA1 and pA1 < pos_A(pA0 + 1)
    put `pA0` before `pA1`
    ");
    assert_snapshot!(refused("y[i] += A[i,j,k]", "A=csf", "pA2,i,pA1"), @r"
    impossible loop order: pA2 before pA1 before pA2 is a cycle
    the order asks for pA2 before pA1
    pA1 comes before pA2 because pos2_A(pA1) <= pA2 and pA2 < pos2_A(pA1 + 1)
    put `pA1` before `pA2`
    ");
    assert_snapshot!(refused("y[i] += A[i,j]", "A=csr", "i,q"), @r"
    `q` in the loop order is neither an index nor a position

    the dimensions of this computation are i, j, pA0, pA1
    ");
}

#[test]
fn every_order_of_indices_has_an_exact_scan() {
    let orders = ["i,j,k", "i,k,j", "j,i,k", "j,k,i", "k,i,j", "k,j,i"];
    let layouts =
        ["csr", "csc", "dcsr", "coo", "bcsr(2,3)", "csf", "dia", "ell", "skyline", "dense"];
    let mut scans = 0;
    for a in layouts {
        for b in ["csr", "csc", "coo"] {
            for order in orders {
                let expression = "C[i,j] += A[i,k] * B[k,j]";
                let study = scanned(expression, &format!("A={a} B={b}"), order);
                let dims = study.schedule.dims();
                let indices = dims.iter().filter(|d| study.space.indices.contains(d));
                let kept: Vec<&str> = indices.map(|i| &**i).collect();
                assert_eq!(kept.join(","), order, "A={a} B={b}");
                scans += 1;
            }
        }
    }
    assert_eq!(scans, 180);
}

/// Seen from some places, the tiles are a union of ranges; the bounds of one range are not those of all.
#[test]
fn a_tile_without_common_bounds_is_refused() {
    let kernel = siskin::Kernel::new("y[i] += A[i,j]").layout("A", "bcsr(2,2)").tile("j", 3);
    let error = kernel.order(&["pA3", "pA2", "pA0", "tj"]).plan().unwrap_err();
    assert!(error.message.starts_with("no bounds for `tj`"), "{error}");
}

#[test]
fn tiles_of_tiles_go_around_their_tiles() {
    let nest = |of: &str, order: &[&str]| {
        let tiled = siskin::Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr");
        let tiled = tiled.tile(of, 2).tile(&format!("t{of}"), 3).order(order);
        tiled.plan().unwrap().statements()[0].nest().to_string()
    };
    assert_snapshot!(nest("i", &[]), @r"
    for tti in 0..floor((I + 5)/6)
      for ti in 3*tti..3*tti + 3
        for pA0 in 2*ti..min(I, 2*ti + 2)
          let i = pA0
          for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
            let j = crd_A(pA1)
            S
    ");
    assert_snapshot!(nest("pA1", &[]), @r"
    for pA0 in 0..I
      let i = pA0
      for ttpA1 in floor(pos_A(pA0)/6)..floor((pos_A(pA0 + 1) + 5)/6)
        for tpA1 in max(3*ttpA1, floor(pos_A(pA0)/2))..min(3*ttpA1 + 3, floor((pos_A(pA0 + 1) + 1)/2))
          for pA1 in max(pos_A(pA0), 2*tpA1)..min(2*tpA1 + 2, pos_A(pA0 + 1))
            let j = crd_A(pA1)
            S
    ");
    let apart = nest("j", &["ttj", "i", "tj"]);
    assert!(apart.starts_with("for ttj in 0..floor((J + 5)/6)\n  for pA0 in 0..I\n"), "{apart}");
    assert!(apart.contains("for tj in 3*ttj..3*ttj + 3"), "{apart}");
}
