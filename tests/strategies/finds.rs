//! The finds of SPF §6.2 and Appendix A and their kin, decided by Z3 with isl as second opinion.
//!
//! Each case shows every template with its arguments (direction, *continue* condition, whether the
//! walk resumes after a match, state indices), or why it is refuted: small concrete arrays.

use crate::study::study;
use insta::assert_snapshot;

#[test]
fn csr_rows_in_a_sparse_vector() {
    let study = study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "");
    assert_snapshot!(study.verdicts(), @r"
    find px in 0..NNZ_x where j = crd_x(px)
      bsearch (while crd_x(px) < j)
      direct (key crd_x(px) = j, state {})
      expand (key crd_x(px) = j, state {})
      gallop (up, while crd_x(px) < j, resume after a match, state {pA0})
      group not applicable: at most one position matches
      hash (key crd_x(px) = j, state {})
      masked (key crd_x(px) = j, state {})
      rank (key crd_x(px) = j, state {})
      scan
      seq (up, while crd_x(px) < j, resume after a match, state {pA0})
      vector (up, while crd_x(px) < j, state {pA0})
    ");
    assert_snapshot!(study.counterexamples("px", "seq"), @r"
    advance (up, while crd_x(px) < j, state {}): NNZ_x = 1, pA0 = 0, pA1 = 0, j = 1, pA0' = 1, pA1' = 1, j' = 0, px = 0, crd_A = [1, 0], crd_x = [0], pos_A = [0, 1, 2]
    stop (up, while j < crd_x(px)): NNZ_x = 2, j = 1, px = 0, px' = 1, crd_x = [0, 1]
    ");
}

#[test]
fn a_sparse_vector_in_csr_rows() {
    let study = study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "pA0,px");
    assert_snapshot!(study.verdicts(), @r"
    find pA1 in pos_A(pA0)..pos_A(pA0 + 1) where j = crd_A(pA1)
      bsearch (while crd_A(pA1) < j)
      direct (key crd_A(pA1) = j, state {pA0})
      expand (key crd_A(pA1) = j, state {pA0})
      gallop (up, while crd_A(pA1) < j, resume after a match, state {pA0})
      group not applicable: at most one position matches
      hash (key crd_A(pA1) = j, state {pA0})
      masked (key crd_A(pA1) = j, state {pA0})
      rank (key crd_A(pA1) = j, state {pA0})
      scan
      seq (up, while crd_A(pA1) < j, resume after a match, state {pA0})
      vector (up, while crd_A(pA1) < j, state {pA0})
    ");
    assert_snapshot!(study.counterexamples("pA1", "seq"), @r"
    range (up, while crd_A(pA1) < j, state {}): pA0 = 0, pA0' = 1, pos_A = [0, 0, 1]
    stop (up, while j < crd_A(pA1)): pA0 = 0, j = 1, pA1 = 0, pA1' = 1, crd_A = [0, 1], pos_A = [0, 2]
    advance (down, while j < crd_A(pA1), state {pA0}): pA0 = 0, px = 0, j = 0, pA0' = 0, px' = 1, j' = 1, pA1 = 0, crd_A = [1], crd_x = [0, 1], pos_A = [0, 1]
    ");
}

#[test]
fn a_sparse_vector_in_csr_rows_vector_outside() {
    let study = study("y[i] += A[i,j] * x[j]", "A=csr x=sparse", "px,pA0");
    assert_snapshot!(study.verdicts(), @r"
    find pA1 in pos_A(pA0)..pos_A(pA0 + 1) where j = crd_A(pA1)
      bsearch (while crd_A(pA1) < j)
      direct not applicable: it would keep one state for each value of pA0
      expand not applicable: it would keep one state for each value of pA0
      gallop (up, while crd_A(pA1) < j, resume after a match, state {pA0})
      group not applicable: at most one position matches
      hash not applicable: it would keep one state for each value of pA0
      masked not applicable: it would keep one state for each value of pA0
      rank not applicable: it would keep one state for each value of pA0
      scan
      seq (up, while crd_A(pA1) < j, resume after a match, state {pA0})
      vector (up, while crd_A(pA1) < j, state {pA0})
    ");
    assert_snapshot!(study.counterexamples("pA1", "seq"), @r"
    range (up, while crd_A(pA1) < j, state {j, px}): px = 0, j = 0, pA0 = 0, px' = 0, j' = 0, pA0' = 1, crd_x = [0], pos_A = [0, 0, 1]
    stop (up, while j < crd_A(pA1)): j = 1, pA0 = 0, pA1 = 0, pA1' = 1, crd_A = [0, 1], pos_A = [0, 2]
    advance (down, while j < crd_A(pA1), state {pA0}): px = 0, j = 0, pA0 = 0, px' = 1, j' = 1, pA0' = 0, pA1 = 0, crd_A = [1], crd_x = [0, 1], pos_A = [0, 1]
    ");
}

#[test]
fn coo_in_coo() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=coo B=coo", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB in 0..P0_B where i = crd0_B(pB) and j = crd1_B(pB)
      bsearch (while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j)
      direct refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      expand refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      gallop (up, while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j, resume after a match, state {})
      group not applicable: at most one position matches
      hash (key crd0_B(pB) = i, crd1_B(pB) = j, state {})
      masked refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      rank refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      scan
      seq (up, while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j, resume after a match, state {})
      vector (up, while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j, state {})
    ");
    assert_snapshot!(study.counterexamples("pB", "seq"), @r"
    stop (up, while i < crd0_B(pB) or i = crd0_B(pB) and j < crd1_B(pB)): P0_B = 2, i = 0, j = 1, pB = 0, pB' = 1, crd0_B = [0, 0], crd1_B = [0, 1]
    advance (down, while i < crd0_B(pB) or i = crd0_B(pB) and j < crd1_B(pB), state {i}): P0_B = 1, pA = 0, i = 0, j = 0, pA' = 1, i' = 0, j' = 1, pB = 0, crd0_A = [0, 0], crd0_B = [0], crd1_A = [0, 1], crd1_B = [1]
    ");
}

#[test]
fn coo_in_dcsr() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=coo B=dcsr", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB0 in 0..P0_B where i = crd0_B(pB0)
      bsearch (while crd0_B(pB0) < i)
      direct (key crd0_B(pB0) = i, state {})
      expand not applicable: more is read of a match than one value
      gallop (up, while crd0_B(pB0) < i, state {})
      group not applicable: at most one position matches
      hash (key crd0_B(pB0) = i, state {})
      masked not applicable: more is read of a match than one value
      rank (key crd0_B(pB0) = i, state {})
      scan
      seq (up, while crd0_B(pB0) < i, state {})
      vector (up, while crd0_B(pB0) < i, state {})
    find pB1 in pos1_B(pB0)..pos1_B(pB0 + 1) where j = crd1_B(pB1)
      bsearch (while crd1_B(pB1) < j)
      direct (key crd1_B(pB1) = j, state {i})
      expand (key crd1_B(pB1) = j, state {i})
      gallop (up, while crd1_B(pB1) < j, resume after a match, state {i})
      group not applicable: at most one position matches
      hash (key crd1_B(pB1) = j, state {i})
      masked (key crd1_B(pB1) = j, state {i})
      rank (key crd1_B(pB1) = j, state {i})
      scan
      seq (up, while crd1_B(pB1) < j, resume after a match, state {i})
      vector (up, while crd1_B(pB1) < j, state {i})
    ");
    assert_snapshot!(study.counterexamples("pB0", "seq"), @r"
    postinc (up, while crd0_B(pB0) < i, state {}): P0_B = 1, pA = 0, i = 0, pA' = 1, i' = 0, pB0 = 0, crd0_A = [0, 0], crd0_B = [0], crd1_A = [0, 1], pos1_B(1) = 0
    stop (up, while i < crd0_B(pB0)): P0_B = 2, i = 1, pB0 = 0, pB0' = 1, crd0_B = [0, 1], pos1_B(2) = 0
    advance (down, while i < crd0_B(pB0), state {}): P0_B = 1, pA = 0, i = 0, pA' = 1, i' = 1, pB0 = 0, crd0_A = [0, 1], crd0_B = [1], crd1_A = [0, 0], pos1_B(1) = 0
    ");
}

#[test]
fn coo_in_csr() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=coo B=csr", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB1 in pos_B(pB0)..pos_B(pB0 + 1) where j = crd_B(pB1)
      bsearch (while crd_B(pB1) < j)
      direct (key crd_B(pB1) = j, state {i})
      expand (key crd_B(pB1) = j, state {i})
      gallop (up, while crd_B(pB1) < j, resume after a match, state {i})
      group not applicable: at most one position matches
      hash (key crd_B(pB1) = j, state {i})
      masked (key crd_B(pB1) = j, state {i})
      rank (key crd_B(pB1) = j, state {i})
      scan
      seq (up, while crd_B(pB1) < j, resume after a match, state {i})
      vector (up, while crd_B(pB1) < j, state {i})
    ");
    assert_snapshot!(study.counterexamples("pB1", "seq"), @r"
    range (up, while crd_B(pB1) < j, state {}): pB0 = 0, pB0' = 1, pos_B = [0, 0, 1]
    stop (up, while j < crd_B(pB1)): j = 1, pB0 = 0, pB1 = 0, pB1' = 1, crd_B = [0, 1], pos_B = [0, 2]
    advance (down, while j < crd_B(pB1), state {i}): pA = 0, i = 0, j = 0, pB0 = 0, pA' = 1, i' = 0, j' = 1, pB0' = 0, pB1 = 0, crd0_A = [0, 0], crd1_A = [0, 1], crd_B = [1], pos_B = [0, 1]
    ");
}

#[test]
fn csr_in_blocks() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=bcsr(2,2)", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB1 in pos_B(pB0)..pos_B(pB0 + 1) where 2*crd_B(pB1) <= j <= 2*crd_B(pB1) + 1
      bsearch (while 2*crd_B(pB1) + 1 < j)
      direct (key crd_B(pB1) = floor(j/2), state {pA0})
      expand not applicable: more is read of a match than one value
      gallop (up, while 2*crd_B(pB1) + 1 < j, state {pA0})
      group not applicable: at most one position matches
      hash (key crd_B(pB1) = floor(j/2), state {pA0})
      masked not applicable: more is read of a match than one value
      rank (key crd_B(pB1) = floor(j/2), state {pA0})
      scan
      seq (up, while 2*crd_B(pB1) + 1 < j, state {pA0})
      vector (up, while 2*crd_B(pB1) + 1 < j, state {pA0})
    ");
    assert_snapshot!(study.counterexamples("pB1", "seq"), @r"
    stop (up, while j < 2*crd_B(pB1)): pB0 = 0, j = 2, pB1 = 0, pB1' = 1, crd_B = [0, 1], pos_B = [0, 2]
    range (up, while 2*crd_B(pB1) + 1 < j, state {}): pB0 = 0, pB0' = 1, pos_B = [0, 0, 1]
    postinc (up, while 2*crd_B(pB1) + 1 < j, state {pA0}): pA0 = 0, pB0 = 0, pA1 = 0, j = 0, pA0' = 0, pB0' = 0, pA1' = 1, j' = 1, pB1 = 0, crd_A = [0, 1], crd_B = [0], pos_A = [0, 2], pos_B = [0, 1]
    advance (down, while j < 2*crd_B(pB1), state {pA0}): pA0 = 0, pB0 = 0, pA1 = 0, j = 0, pA0' = 0, pB0' = 0, pA1' = 1, j' = 2, pB1 = 0, crd_A = [0, 2], crd_B = [1], pos_A = [0, 2], pos_B = [0, 1]
    ");
}

#[test]
fn blocks_in_a_sparse_vector() {
    let study = study("y[i] += A[i,j] * x[j]", "A=bcsr(2,2) x=sparse", "");
    assert_snapshot!(study.verdicts(), @r"
    find px in 0..NNZ_x where j = crd_x(px)
      bsearch (while crd_x(px) < j)
      direct (key crd_x(px) = j, state {})
      expand (key crd_x(px) = j, state {})
      gallop (up, while crd_x(px) < j, resume after a match, state {pA0, pA2})
      group not applicable: at most one position matches
      hash (key crd_x(px) = j, state {})
      masked (key crd_x(px) = j, state {})
      rank (key crd_x(px) = j, state {})
      scan
      seq (up, while crd_x(px) < j, resume after a match, state {pA0, pA2})
      vector (up, while crd_x(px) < j, state {pA0, pA2})
    ");
    assert_snapshot!(study.counterexamples("px", "seq"), @r"
    advance (up, while crd_x(px) < j, state {pA0, pA1}): NNZ_x = 1, pA0 = 0, pA1 = 0, pA2 = 0, pA3 = 1, j = 1, pA0' = 0, pA1' = 0, pA2' = 1, pA3' = 0, j' = 0, px = 0, crd_A = [0], crd_x = [0], pos_A = [0, 1]
    stop (up, while j < crd_x(px)): NNZ_x = 2, j = 1, px = 0, px' = 1, crd_x = [0, 1]
    ");
}

#[test]
fn blocks_in_csr() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=bcsr(2,2) B=csr", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB1 in pos_B(pB0)..pos_B(pB0 + 1) where j = crd_B(pB1)
      bsearch (while crd_B(pB1) < j)
      direct (key crd_B(pB1) = j, state {pA0, pA1, pA2})
      expand (key crd_B(pB1) = j, state {pA0, pA1, pA2})
      gallop (up, while crd_B(pB1) < j, resume after a match, state {pA0, pA2})
      group not applicable: at most one position matches
      hash (key crd_B(pB1) = j, state {pA0, pA1, pA2})
      masked (key crd_B(pB1) = j, state {pA0, pA1, pA2})
      rank (key crd_B(pB1) = j, state {pA0, pA1, pA2})
      scan
      seq (up, while crd_B(pB1) < j, resume after a match, state {pA0, pA2})
      vector (up, while crd_B(pB1) < j, state {pA0, pA2})
    ");
    assert_snapshot!(study.counterexamples("pB1", "seq"), @r"
    range (up, while crd_B(pB1) < j, state {pA0, pA1}): pA0 = 0, pA1 = 0, pB0 = 0, pA0' = 0, pA1' = 0, pB0' = 1, crd_A = [0], pos_A = [0, 1], pos_B = [0, 0, 1]
    stop (up, while j < crd_B(pB1)): pB0 = 0, j = 1, pB1 = 0, pB1' = 1, crd_B = [0, 1], pos_B = [0, 2]
    advance (down, while j < crd_B(pB1), state {pA0, pA1, pA2}): pA0 = 0, pA1 = 0, pA2 = 0, pB0 = 0, pA3 = 0, j = 0, pA0' = 0, pA1' = 0, pA2' = 0, pB0' = 0, pA3' = 1, j' = 1, pB1 = 0, crd_A = [0], crd_B = [1], pos_A = [0, 1], pos_B = [0, 1]
    ");
}

#[test]
fn increasing_in_runs() {
    let study = study("s += a[i] * b[i]", "a=sparse b=run-length", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..RUNS_b where left_b(pb) <= i < right_b(pb)
      bsearch (while right_b(pb) <= i)
      direct not applicable: the find condition is not an equality of a key
      expand not applicable: the find condition is not an equality of a key
      gallop (up, while right_b(pb) <= i, state {})
      group not applicable: at most one position matches
      hash not applicable: the find condition is not an equality of a key
      masked not applicable: the find condition is not an equality of a key
      rank not applicable: the find condition is not an equality of a key
      scan
      seq (up, while right_b(pb) <= i, state {})
      vector (up, while right_b(pb) <= i, state {})
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    stop (up, while i < left_b(pb)): RUNS_b = 2, i = 1, pb = 0, pb' = 1, left_b = [0, 1], right_b = [1, 2]
    postinc (up, while right_b(pb) <= i, state {}): RUNS_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb = 0, crd_a = [0, 1], left_b = [0], right_b = [2]
    advance (down, while i < left_b(pb), state {}): RUNS_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb = 0, crd_a = [0, 1], left_b = [1], right_b = [2]
    ");
}

#[test]
fn csr_in_csc() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=csc", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB1 in pos1_B(pB0)..pos1_B(pB0 + 1) where i = crd1_B(pB1)
      bsearch (while crd1_B(pB1) < i)
      direct not applicable: it would keep one state for each value of j
      expand not applicable: it would keep one state for each value of j
      gallop (up, while crd1_B(pB1) < i, resume after a match, state {j})
      group not applicable: at most one position matches
      hash not applicable: it would keep one state for each value of j
      masked not applicable: it would keep one state for each value of j
      rank not applicable: it would keep one state for each value of j
      scan
      seq (up, while crd1_B(pB1) < i, resume after a match, state {j})
      vector (up, while crd1_B(pB1) < i, state {j})
    ");
    assert_snapshot!(study.counterexamples("pB1", "seq"), @r"
    range (up, while crd1_B(pB1) < i, state {pA0}): pA0 = 0, pB0 = 0, pA0' = 0, pB0' = 1, pos1_B = [0, 0, 1], pos_A = [0, 2]
    stop (up, while i < crd1_B(pB1)): i = 1, pB0 = 0, pB1 = 0, pB1' = 1, crd1_B = [0, 1], pos1_B = [0, 2]
    advance (down, while i < crd1_B(pB1), state {j}): pA0 = 0, i = 0, pA1 = 0, j = 0, pB0 = 0, pA0' = 1, i' = 1, pA1' = 1, j' = 0, pB0' = 0, pB1 = 0, crd1_B = [1], crd_A = [0, 0], pos1_B = [0, 1], pos_A = [0, 1, 2]
    ");
}

#[test]
fn csr_rows_in_a_hash_table() {
    let study = study("y[i] += A[i,j] * x[j]", "A=csr x=hash", "");
    assert_snapshot!(study.verdicts(), @r"
    find px in 0..W0_x where j = crd0_x(0, px)
      bsearch refuted by `partition` (while crd0_x(0, px) < j): the positions to skip do not all come first; e.g. W0_x = 2, j = 1, px = 0, px' = 1, crd0_x(0, 0) = 1, crd0_x(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
      direct refuted by `coordinate`: the key is several numbers, or may be negative; e.g. W0_x = 1, px = 0, crd0_x(0, 0) = -1, home(1, -1) = -8
      expand refuted by `coordinate`: the key is several numbers, or may be negative; e.g. W0_x = 1, px = 0, crd0_x(0, 0) = -1, home(1, -1) = -8
      gallop refuted by `partition` (up, while crd0_x(0, px) < j): the positions to skip do not all come first; e.g. W0_x = 2, j = 1, px = 0, px' = 1, crd0_x(0, 0) = 1, crd0_x(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
      group not applicable: at most one position matches
      hash (key crd0_x(0, px) = j, state {})
      masked refuted by `coordinate`: the key is several numbers, or may be negative; e.g. W0_x = 1, px = 0, crd0_x(0, 0) = -1, home(1, -1) = -8
      probe (key crd0_x(0, px) = j)
      rank refuted by `coordinate`: the key is several numbers, or may be negative; e.g. W0_x = 1, px = 0, crd0_x(0, 0) = -1, home(1, -1) = -8
      scan
      seq refuted by `stop` (up, while crd0_x(0, px) < j): the walk would stop before a match; e.g. W0_x = 2, j = 0, px = 0, px' = 1, crd0_x(0, 0) = 1, crd0_x(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
      vector refuted by `partition` (up, while crd0_x(0, px) < j): the positions to skip do not all come first; e.g. W0_x = 2, j = 1, px = 0, px' = 1, crd0_x(0, 0) = 1, crd0_x(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
    ");
}

#[test]
fn csr_in_a_hash_table_for_each_row() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=hash", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB0 in 0..W0_B where crd0_B(0, pB0) >= 0 (several)
      bsearch refuted by `partition` (while crd0_B(0, pB0) < 0): the positions to skip do not all come first; e.g. W0_B = 2, pB0 = 0, pB0' = 1, crd0_B(0, 0) = 0, crd0_B(0, 1) = -1, home(2, -1) = -8, home(2, 0) = 0
      direct not applicable: the find condition is not an equality of a key
      expand not applicable: more is read of a match than one value
      gallop refuted by `partition` (up, while crd0_B(0, pB0) < 0): the positions to skip do not all come first; e.g. W0_B = 2, pB0 = 0, pB0' = 1, crd0_B(0, 0) = 0, crd0_B(0, 1) = -1, home(2, -1) = -8, home(2, 0) = 0
      group not applicable: the find condition is not an equality of a key
      hash not applicable: the find condition is not an equality of a key
      masked not applicable: more is read of a match than one value
      rank not applicable: the find condition is not an equality of a key
      scan (all matches)
      seq refuted by `contiguous` (up, while crd0_B(0, pB0) < 0): the matches of one query are not consecutive; e.g. W0_B = 3, pB0 = 0, pB0' = 1, pB0'' = 2, crd0_B(0, 0) = 0, crd0_B(0, 1) = -1, crd0_B(0, 2) = 1, home(3, -1) = -8, home(3, 0) = 0, home(3, 1) = 2
      vector refuted by `partition` (up, while crd0_B(0, pB0) < 0): the positions to skip do not all come first; e.g. W0_B = 2, pB0 = 0, pB0' = 1, crd0_B(0, 0) = 0, crd0_B(0, 1) = -1, home(2, -1) = -8, home(2, 0) = 0
    find pB1 in 0..W1_B where j = crd1_B(pB0, pB1)
      bsearch refuted by `partition` (while crd1_B(pB0, pB1) < j): the positions to skip do not all come first; e.g. W1_B = 2, pB0 = 0, j = 1, pB1 = 0, pB1' = 1, crd0_B(0, 0) = 0, crd1_B(0, 0) = 1, crd1_B(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
      direct refuted by `coordinate`: the key is several numbers, or may be negative; e.g. W1_B = 1, pB0 = 0, pB1 = 0, crd0_B(0, 0) = 0, crd1_B(0, 0) = -1, home(1, -1) = -8
      expand not applicable: more is read of a match than one value
      gallop refuted by `partition` (up, while crd1_B(pB0, pB1) < j): the positions to skip do not all come first; e.g. W1_B = 2, pB0 = 0, j = 1, pB1 = 0, pB1' = 1, crd0_B(0, 0) = 0, crd1_B(0, 0) = 1, crd1_B(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
      group not applicable: at most one position matches
      hash (key crd1_B(pB0, pB1) = j, state {pB0, i})
      masked not applicable: more is read of a match than one value
      probe (key crd1_B(pB0, pB1) = j)
      rank refuted by `coordinate`: the key is several numbers, or may be negative; e.g. W1_B = 1, pB0 = 0, pB1 = 0, crd0_B(0, 0) = 0, crd1_B(0, 0) = -1, home(1, -1) = -8
      scan
      seq refuted by `stop` (up, while crd1_B(pB0, pB1) < j): the walk would stop before a match; e.g. W1_B = 2, pB0 = 0, j = 0, pB1 = 0, pB1' = 1, crd0_B(0, 0) = 0, crd1_B(0, 0) = 1, crd1_B(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
      vector refuted by `partition` (up, while crd1_B(pB0, pB1) < j): the positions to skip do not all come first; e.g. W1_B = 2, pB0 = 0, j = 1, pB1 = 0, pB1' = 1, crd0_B(0, 0) = 0, crd1_B(0, 0) = 1, crd1_B(0, 1) = 0, home(2, 0) = 0, home(2, 1) = 0
    ");
}

#[test]
fn dcsr_in_dcsr() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=dcsr B=dcsr", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB0 in 0..P0_B where i = crd0_B(pB0)
      bsearch (while crd0_B(pB0) < i)
      direct (key crd0_B(pB0) = i, state {})
      expand not applicable: more is read of a match than one value
      gallop (up, while crd0_B(pB0) < i, resume after a match, state {})
      group not applicable: at most one position matches
      hash (key crd0_B(pB0) = i, state {})
      masked not applicable: more is read of a match than one value
      rank (key crd0_B(pB0) = i, state {})
      scan
      seq (up, while crd0_B(pB0) < i, resume after a match, state {})
      vector (up, while crd0_B(pB0) < i, state {})
    find pB1 in pos1_B(pB0)..pos1_B(pB0 + 1) where j = crd1_B(pB1)
      bsearch (while crd1_B(pB1) < j)
      direct (key crd1_B(pB1) = j, state {i})
      expand (key crd1_B(pB1) = j, state {pA0, i})
      gallop (up, while crd1_B(pB1) < j, resume after a match, state {i})
      group not applicable: at most one position matches
      hash (key crd1_B(pB1) = j, state {i})
      masked (key crd1_B(pB1) = j, state {pA0, i})
      rank (key crd1_B(pB1) = j, state {i})
      scan
      seq (up, while crd1_B(pB1) < j, resume after a match, state {i})
      vector (up, while crd1_B(pB1) < j, state {i})
    ");
    assert_snapshot!(study.counterexamples("pB1", "seq"), @r"
    range (up, while crd1_B(pB1) < j, state {}): pB0 = 0, pB0' = 1, crd0_B = [0, 1], pos1_B = [0, 0, 1]
    stop (up, while j < crd1_B(pB1)): pB0 = 0, j = 1, pB1 = 0, pB1' = 1, crd0_B = [0], crd1_B = [0, 1], pos1_B = [0, 2]
    advance (down, while j < crd1_B(pB1), state {i, pA0, pB0}): pA0 = 0, i = 0, pB0 = 0, pA1 = 0, j = 0, pA0' = 0, i' = 0, pB0' = 0, pA1' = 1, j' = 1, pB1 = 0, crd0_A = [0], crd0_B = [0], crd1_A = [0, 1], crd1_B = [1], pos1_A = [0, 2], pos1_B = [0, 1]
    ");
}

#[test]
fn csr_in_csr() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=csr B=csr", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB1 in pos_B(pB0)..pos_B(pB0 + 1) where j = crd_B(pB1)
      bsearch (while crd_B(pB1) < j)
      direct (key crd_B(pB1) = j, state {pA0})
      expand (key crd_B(pB1) = j, state {pA0})
      gallop (up, while crd_B(pB1) < j, resume after a match, state {pA0})
      group not applicable: at most one position matches
      hash (key crd_B(pB1) = j, state {pA0})
      masked (key crd_B(pB1) = j, state {pA0})
      rank (key crd_B(pB1) = j, state {pA0})
      scan
      seq (up, while crd_B(pB1) < j, resume after a match, state {pA0})
      vector (up, while crd_B(pB1) < j, state {pA0})
    ");
    assert_snapshot!(study.counterexamples("pB1", "seq"), @r"
    range (up, while crd_B(pB1) < j, state {}): pB0 = 0, pB0' = 1, pos_B = [0, 0, 1]
    stop (up, while j < crd_B(pB1)): pB0 = 0, j = 1, pB1 = 0, pB1' = 1, crd_B = [0, 1], pos_B = [0, 2]
    advance (down, while j < crd_B(pB1), state {pA0}): pA0 = 0, pB0 = 0, pA1 = 0, j = 0, pA0' = 0, pB0' = 0, pA1' = 1, j' = 1, pB1 = 0, crd_A = [0, 1], crd_B = [1], pos_A = [0, 2], pos_B = [0, 1]
    ");
}

#[test]
fn unsorted_coo_in_unsorted_coo() {
    let study = study("C[i,j] += A[i,j] * B[i,j]", "A=coo-unsorted B=coo-unsorted", "");
    assert_snapshot!(study.verdicts(), @r"
    find pB in 0..P0_B where i = crd0_B(pB) and j = crd1_B(pB) (several)
      bsearch refuted by `partition` (while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j): the positions to skip do not all come first; e.g. P0_B = 2, i = 0, j = 1, pB = 0, pB' = 1, crd0_B = [0, 0], crd1_B = [1, 0]
      direct refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      expand refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      gallop refuted by `partition` (up, while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j): the positions to skip do not all come first; e.g. P0_B = 2, i = 0, j = 1, pB = 0, pB' = 1, crd0_B = [0, 0], crd1_B = [1, 0]
      group (key crd0_B(pB) = i, crd1_B(pB) = j, all matches, state {})
      hash (key crd0_B(pB) = i, crd1_B(pB) = j, all matches, state {})
      masked refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      rank refuted by `coordinate`: the key is several numbers, or may be negative; e.g. P0_B = 1, pB = 0, crd0_B = [0], crd1_B = [0]
      scan (all matches)
      seq refuted by `stop` (up, while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j): the walk would stop before a match; e.g. P0_B = 2, i = 0, j = 0, pB = 0, pB' = 1, crd0_B = [0, 0], crd1_B = [1, 0]
      vector refuted by `partition` (up, while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j): the positions to skip do not all come first; e.g. P0_B = 2, i = 0, j = 1, pB = 0, pB' = 1, crd0_B = [0, 0], crd1_B = [1, 0]
    ");
    assert_snapshot!(study.counterexamples("pB", "seq"), @r"stop (up, while crd0_B(pB) < i or crd0_B(pB) = i and crd1_B(pB) < j): P0_B = 2, i = 0, j = 0, pB = 0, pB' = 1, crd0_B = [0, 0], crd1_B = [1, 0]");
}

#[test]
fn variable_blocks() {
    let study = study("s += a[i] * b[i]", "a=sparse b=vbl", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb0 in 0..BLOCKS_b where last_b(pb0) + ofs_b(pb0) < i + ofs_b(pb0 + 1) and i <= last_b(pb0)
      bsearch (while last_b(pb0) < i)
      direct not applicable: the find condition is not an equality of a key
      expand not applicable: more is read of a match than one value
      gallop (up, while last_b(pb0) < i, state {})
      group not applicable: at most one position matches
      hash not applicable: the find condition is not an equality of a key
      masked not applicable: more is read of a match than one value
      rank not applicable: the find condition is not an equality of a key
      scan
      seq (up, while last_b(pb0) < i, state {})
      vector (up, while last_b(pb0) < i, state {})
    ");
    assert_snapshot!(study.counterexamples("pb0", "seq"), @r"
    stop (up, while i + ofs_b(pb0 + 1) <= last_b(pb0) + ofs_b(pb0)): BLOCKS_b = 2, i = 1, pb0 = 0, pb0' = 1, last_b = [0, 1], ofs_b = [0, 1, 2]
    postinc (up, while last_b(pb0) < i, state {}): BLOCKS_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb0 = 0, crd_a = [0, 1], last_b = [1], ofs_b = [0, 2]
    advance (down, while i + ofs_b(pb0 + 1) <= last_b(pb0) + ofs_b(pb0), state {}): BLOCKS_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb0 = 0, crd_a = [0, 1], last_b = [1], ofs_b = [0, 1]
    ");
}

#[test]
fn rows_of_ell_in_a_sparse_vector() {
    let study = study("y[i] += A[i,j] * x[j]", "A=ell x=sparse", "");
    assert_snapshot!(study.verdicts(), @r"
    find px in 0..NNZ_x where j = crd_x(px)
      bsearch (while crd_x(px) < j)
      direct (key crd_x(px) = j, state {})
      expand (key crd_x(px) = j, state {})
      gallop (up, while crd_x(px) < j, resume after a match, state {pA0})
      group not applicable: at most one position matches
      hash (key crd_x(px) = j, state {})
      masked (key crd_x(px) = j, state {})
      rank (key crd_x(px) = j, state {})
      scan
      seq (up, while crd_x(px) < j, resume after a match, state {pA0})
      vector (up, while crd_x(px) < j, state {pA0})
    ");
    assert_snapshot!(study.counterexamples("px", "seq"), @r"
    advance (up, while crd_x(px) < j, state {}): NNZ_x = 1, pA0 = 0, pA1 = 0, j = 1, pA0' = 1, pA1' = 0, j' = 0, px = 0, crd_A(0, 0) = 1, crd_A(1, 0) = 0, crd_x = [0], len_A = [1, 1]
    stop (up, while j < crd_x(px)): NNZ_x = 2, j = 1, px = 0, px' = 1, crd_x = [0, 1]
    ");
}

#[test]
fn three_vectors_of_three_orders() {
    let study = study("s += a[i] * b[i] * c[i]", "a=sparse b=@decreasing c=@unsorted", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch (while i < crd_b(pb))
      direct (key crd_b(pb) = i, state {})
      expand (key crd_b(pb) = i, state {})
      gallop refuted by `amortise` (up, while i < crd_b(pb), state {i}): every query would start again from the beginning of the range
      group not applicable: at most one position matches
      hash (key crd_b(pb) = i, state {})
      masked (key crd_b(pb) = i, state {})
      rank refuted by `rising`: the keys do not rise strictly: a position is not the number of those before it; e.g. NNZ_b = 2, pb = 0, pb' = 1, crd_b = [1, 0]
      scan
      seq (down, while crd_b(pb) < i, resume after a match, state {})
      vector refuted by `amortise` (up, while i < crd_b(pb), state {i}): every query would start again from the beginning of the range
    find pc in 0..NNZ_c where i = crd_c(pc)
      bsearch refuted by `partition` (while crd_c(pc) < i): the positions to skip do not all come first; e.g. NNZ_c = 2, i = 1, pc = 0, pc' = 1, crd_c = [1, 0]
      direct (key crd_c(pc) = i, state {})
      expand (key crd_c(pc) = i, state {})
      gallop refuted by `partition` (up, while crd_c(pc) < i): the positions to skip do not all come first; e.g. NNZ_c = 2, i = 1, pc = 0, pc' = 1, crd_c = [1, 0]
      group not applicable: at most one position matches
      hash (key crd_c(pc) = i, state {})
      masked (key crd_c(pc) = i, state {})
      rank refuted by `rising`: the keys do not rise strictly: a position is not the number of those before it; e.g. NNZ_c = 2, pc = 0, pc' = 1, crd_c = [1, 0]
      scan
      seq refuted by `stop` (up, while crd_c(pc) < i): the walk would stop before a match; e.g. NNZ_c = 2, i = 0, pc = 0, pc' = 1, crd_c = [1, 0]
      vector refuted by `partition` (up, while crd_c(pc) < i): the positions to skip do not all come first; e.g. NNZ_c = 2, i = 1, pc = 0, pc' = 1, crd_c = [1, 0]
    ");
    assert_snapshot!(study.counterexamples("pb", "seq"), @r"
    stop (up, while crd_b(pb) < i): NNZ_b = 2, i = 0, pb = 0, pb' = 1, crd_b = [1, 0]
    advance (up, while i < crd_b(pb), state {}): NNZ_b = 1, pa = 0, i = 0, pa' = 1, i' = 1, pb = 0, crd_a = [0, 1], crd_b = [1]
    ");
}

#[test]
fn contradiction() {
    let study = study("s += a[i] * b[i]", "a=sparse b=@contradictory", "");
    assert_snapshot!(study.verdicts(), @r"
    find pb in 0..NNZ_b where i = crd_b(pb)
      bsearch vacuous: nothing can match under the properties
      direct vacuous: nothing can match under the properties
      expand vacuous: nothing can match under the properties
      gallop vacuous: nothing can match under the properties
      group vacuous: nothing can match under the properties
      hash vacuous: nothing can match under the properties
      masked vacuous: nothing can match under the properties
      rank vacuous: nothing can match under the properties
      scan
      seq vacuous: nothing can match under the properties
      vector vacuous: nothing can match under the properties
    ");
}
