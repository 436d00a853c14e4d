//! [`Set`]: a union of conjunctions over a [`Frame`].

use std::fmt;
use std::rc::Rc;

use isl_rs::DimType;

use super::frame::{Frame, Unframed};
use super::{done, read, rows};
use crate::formula::{self, Affine, Atom, Constraint, Relop};

/// A set of integer points: a union of conjunctions over a frame. Cloning is cheap. Stays on its
/// thread, since isl's objects belong to one context.
///
/// Binary operations require equal frames ([`Set::with_frame`] makes them so).
pub struct Set {
    frame: Rc<Frame>,
    raw: isl_rs::Set,
}

impl Clone for Set {
    fn clone(&self) -> Self {
        Set { frame: self.frame.clone(), raw: self.raw() }
    }
}

impl Set {
    /// The points that satisfy every constraint; `!=` splits into a union.
    ///
    /// # Errors
    /// When a constraint mentions an atom that is not in `frame`.
    pub fn new(frame: &Rc<Frame>, constraints: &[Constraint]) -> Result<Set, Unframed> {
        let plain = constraints.iter().filter(|c| c.relop != Relop::Ne);
        let raw = rows::conjunction(frame, plain)?;
        let raw = done(isl_rs::Set::from_basic_set(raw), "make a set of a conjunction");
        let mut set = Set::wrap(frame, raw);
        for different in constraints.iter().filter(|c| c.relop == Relop::Ne) {
            let one = Affine::constant(1);
            let side = |affine: Affine| {
                let strict = Constraint { affine: affine - one.clone(), relop: Relop::Ge };
                Set::new(frame, &[strict])
            };
            let above = side(different.affine.clone())?;
            let below = side(-different.affine.clone())?;
            set = set.intersect(&above.union(&below));
        }
        Ok(set)
    }

    /// The union of conjunctions; the empty list is the empty set.
    ///
    /// # Errors
    /// As [`Set::new`].
    pub fn from_dnf(frame: &Rc<Frame>, disjuncts: &[Vec<Constraint>]) -> Result<Set, Unframed> {
        disjuncts
            .iter()
            .try_fold(Set::empty(frame), |set, conjunct| Ok(set.union(&Set::new(frame, conjunct)?)))
    }

    pub fn universe(frame: &Rc<Frame>) -> Set {
        Set::wrap(frame, done(isl_rs::Set::universe(rows::space(frame)), "make the universe"))
    }

    pub fn empty(frame: &Rc<Frame>) -> Set {
        Set::wrap(frame, done(isl_rs::Set::empty(rows::space(frame)), "make the empty set"))
    }

    pub(super) fn wrap(frame: &Rc<Frame>, raw: isl_rs::Set) -> Set {
        Set { frame: frame.clone(), raw }
    }

    /// A new reference to isl's object, for its consuming operations.
    pub(super) fn raw(&self) -> isl_rs::Set {
        done(self.raw.copy(), "copy a set")
    }

    pub fn frame(&self) -> &Rc<Frame> {
        &self.frame
    }

    /// isl answers "no" to comparisons of sets in different spaces, silently; so check here.
    #[track_caller]
    fn same_frame(&self, other: &Set) {
        assert!(
            Rc::ptr_eq(&self.frame, &other.frame) || self.frame == other.frame,
            "sets over different frames: {:?} and {:?}",
            self.frame,
            other.frame
        );
    }

    #[track_caller]
    pub fn intersect(&self, other: &Set) -> Set {
        self.same_frame(other);
        Set::wrap(&self.frame, done(self.raw().intersect(other.raw()), "intersect"))
    }

    #[track_caller]
    pub fn union(&self, other: &Set) -> Set {
        self.same_frame(other);
        Set::wrap(&self.frame, done(self.raw().union(other.raw()), "unite"))
    }

    /// The points of `self` that are not in `other`.
    #[track_caller]
    pub fn subtract(&self, other: &Set) -> Set {
        self.same_frame(other);
        Set::wrap(&self.frame, done(self.raw().subtract(other.raw()), "subtract"))
    }

    pub fn complement(&self) -> Set {
        Set::wrap(&self.frame, done(self.raw().complement(), "complement"))
    }

    /// Fewer disjuncts, same points.
    pub fn coalesce(&self) -> Set {
        Set::wrap(&self.frame, done(self.raw().coalesce(), "coalesce"))
    }

    /// A simpler set that agrees with `self` on `context` (and may be anything outside).
    #[track_caller]
    pub fn gist(&self, context: &Set) -> Set {
        self.same_frame(context);
        Set::wrap(&self.frame, done(self.raw().gist(context.raw()), "simplify in a context"))
    }

    /// Same points; equations that are implied by inequalities are explicit.
    pub fn detect_equalities(&self) -> Set {
        Set::wrap(&self.frame, done(self.raw().detect_equalities(), "detect equations"))
    }

    /// Same points; no two disjuncts overlap.
    pub fn make_disjoint(&self) -> Set {
        Set::wrap(&self.frame, done(self.raw().make_disjoint(), "make disjuncts disjoint"))
    }

    pub fn is_empty(&self) -> bool {
        done(self.raw.is_empty(), "test for emptiness")
    }

    #[track_caller]
    pub fn is_subset(&self, other: &Set) -> bool {
        self.same_frame(other);
        done(self.raw.is_subset(&other.raw), "test for inclusion")
    }

    #[track_caller]
    pub fn is_equal(&self, other: &Set) -> bool {
        self.same_frame(other);
        done(self.raw.is_equal(&other.raw), "test for equality")
    }

    #[track_caller]
    pub fn disjoint(&self, other: &Set) -> bool {
        self.same_frame(other);
        done(self.raw.is_disjoint(&other.raw), "test for a common point")
    }

    /// The shadow without `count` dimensions from `first` on (existential quantification). The
    /// result's frame lacks them.
    pub fn project_out(&self, first: usize, count: usize) -> Set {
        if count == 0 {
            return self.clone();
        }
        let mut frame = Frame::clone(&self.frame);
        frame.dims.drain(first..first + count);
        let raw = self.raw().project_out(DimType::Set, first as u32, count as u32);
        Set::wrap(&Rc::new(frame), done(raw, "project"))
    }

    /// The shadow on the first `n` dimensions.
    pub fn keep_first_dims(&self, n: usize) -> Set {
        self.project_out(n, self.frame.dims.len() - n)
    }

    /// Same points; `count` dimensions from `first` on become the last parameters.
    pub fn dims_to_params(&self, first: usize, count: usize) -> Set {
        if count == 0 {
            return self.clone();
        }
        let mut frame = Frame::clone(&self.frame);
        let end = frame.params.len() as u32;
        frame.params.extend(frame.dims.drain(first..first + count));
        let (first, count) = (first as u32, count as u32);
        let raw = self.raw().move_dims(DimType::Param, end, DimType::Set, first, count);
        Set::wrap(&Rc::new(frame), done(raw, "turn dimensions into parameters"))
    }

    /// Re-embeds the set into a frame that has all of this frame's atoms, in any place; the atoms
    /// that are new are unconstrained.
    ///
    /// # Panics
    /// When `frame` lacks an atom of this set's frame.
    pub fn with_frame(&self, frame: &Rc<Frame>) -> Set {
        if *self.frame == **frame {
            return Set::wrap(frame, self.raw());
        }
        let inserted =
            missing(&self.frame.params, &frame.params).zip(missing(&self.frame.dims, &frame.dims));
        let Some((params, dims)) = inserted else {
            return Set::from_dnf(frame, &self.constraints())
                .unwrap_or_else(|e| panic!("the wider frame must have every atom: {e}"));
        };
        let mut raw = self.raw();
        for (kind, places) in [(DimType::Param, params), (DimType::Set, dims)] {
            // In ascending order, so that each place is final when it is filled.
            for at in places {
                raw = done(raw.insert_dims(kind, at as u32, 1), "insert a dimension");
            }
        }
        Set::wrap(frame, raw)
    }

    /// The disjuncts as conjunctions, without redundant constraints; divisions become
    /// [`Atom::Floor`]. The empty set may have no disjunct, or contradictory ones.
    pub fn constraints(&self) -> Vec<Vec<Constraint>> {
        let known = done(self.raw().compute_divs(), "find the divisions of a set");
        let list = done(known.get_basic_set_list(), "list disjuncts");
        let count = done(list.size(), "count disjuncts");
        let mut out = Vec::with_capacity(count as usize);
        for k in 0..count {
            let disjunct = done(list.get_at(k), "get a disjunct");
            let disjunct = done(disjunct.remove_redundancies(), "drop redundant constraints");
            if !done(disjunct.plain_is_empty(), "test for emptiness") {
                out.push(read::conjunction(&self.frame, &disjunct));
            }
        }
        out
    }

    /// Each disjunct as a set of its own; they may overlap.
    pub fn split(&self) -> Vec<Set> {
        let list = done(self.raw.get_basic_set_list(), "list disjuncts");
        let count = done(list.size(), "count disjuncts");
        let disjunct = |k| {
            let disjunct = done(list.get_at(k), "get a disjunct");
            let raw = isl_rs::Set::from_basic_set(disjunct);
            Set::wrap(&self.frame, done(raw, "make a set of a disjunct"))
        };
        (0..count).map(disjunct).collect()
    }

    /// Number of disjuncts as isl holds them.
    pub fn disjuncts(&self) -> usize {
        done(self.raw.n_basic_set(), "count disjuncts") as usize
    }

    /// Whether dimension `dim` is bounded below in terms of the parameters and other dimensions.
    pub fn has_lower_bound(&self, dim: usize) -> bool {
        done(self.raw.dim_has_lower_bound(DimType::Set, dim as u32), "look for a lower bound")
    }

    /// Whether dimension `dim` is bounded above in terms of the parameters and other dimensions.
    pub fn has_upper_bound(&self, dim: usize) -> bool {
        done(self.raw.dim_has_upper_bound(DimType::Set, dim as u32), "look for an upper bound")
    }

    /// One point: values of the parameters, then of the dimensions. `None` when empty, or when the
    /// point that isl finds exceeds 64 bits.
    pub fn sample(&self) -> Option<Vec<i64>> {
        let point = done(self.raw().sample_point(), "find a point");
        if done(point.is_void(), "test for a point") {
            return None;
        }
        let mut out = Vec::with_capacity(self.frame.len());
        for (kind, count) in
            [(DimType::Param, self.frame.params.len()), (DimType::Set, self.frame.dims.len())]
        {
            for at in 0..count {
                let value = done(point.get_coordinate_val(kind, at as i32), "read a point");
                let Ok(value) = value.get_num_si() else {
                    super::context().reset_error();
                    return None;
                };
                out.push(value);
            }
        }
        Some(out)
    }

    /// Whether every point satisfies `constraint`. Atoms that the frame lacks count as arbitrary.
    pub fn implies(&self, constraint: &Constraint) -> bool {
        if let Some(truth) = constraint.as_bool() {
            return truth || self.is_empty();
        }
        match Set::new(&self.frame, std::slice::from_ref(constraint)) {
            Ok(claim) => self.is_subset(&claim),
            Err(Unframed { atom }) => {
                let mut frame = Frame::clone(&self.frame);
                frame.params.push(atom);
                self.with_frame(&Rc::new(frame)).implies(constraint)
            }
        }
    }
}

/// Where `wide` has atoms that `narrow` lacks, when `narrow` is a subsequence of `wide`.
fn missing(narrow: &[Atom], wide: &[Atom]) -> Option<Vec<usize>> {
    let mut left = narrow.iter().peekable();
    let mut out = Vec::new();
    for (at, atom) in wide.iter().enumerate() {
        if left.next_if(|known| *known == atom).is_none() {
            out.push(at);
        }
    }
    left.peek().is_none().then_some(out)
}

/// `{ 0 <= i < I and i = p0 or … }`, with the atoms' own names.
impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disjuncts: Vec<String> =
            self.constraints().iter().map(|c| formula::conjunction(c)).collect();
        match disjuncts.as_slice() {
            [] => f.write_str("{ false }"),
            all => write!(f, "{{ {} }}", all.join(" or ")),
        }
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.frame.dims.iter().map(Atom::to_string).collect();
        write!(f, "[{}] {self}", dims.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Name, parse};
    use proptest::prelude::*;

    fn conjunct(text: &str) -> Vec<Constraint> {
        parse::formula(text).unwrap().as_conjunction().unwrap()
    }

    fn set(frame: &Rc<Frame>, text: &str) -> Set {
        Set::from_dnf(frame, &parse::formula(text).unwrap().to_dnf()).unwrap()
    }

    fn csr_frame() -> Rc<Frame> {
        let call = |text: &str| parse::affine(text).unwrap().as_atom().unwrap().clone();
        Rc::new(Frame::new(
            vec![call("I")],
            ["p0", "pos(p0)", "pos(p0 + 1)", "p1", "crd(p1)", "i", "j"].map(call).to_vec(),
        ))
    }

    const CSR: &str =
        "0 <= p0 < I and i = p0 and pos(p0) <= p1 and p1 < pos(p0 + 1) and j = crd(p1)";

    #[test]
    fn a_set_prints_with_the_names_of_its_atoms() {
        let frame = csr_frame();
        let printed = set(&frame, CSR).to_string();
        assert_eq!(
            printed,
            "{ 0 <= p0 < I and pos(p0) <= p1 < pos(p0 + 1) and i = p0 and j = crd(p1) }"
        );
    }

    #[test]
    fn an_atom_outside_the_frame_is_an_error_that_names_it() {
        let frame = Rc::new(Frame::of_vars(["I"], ["i"]));
        let error = Set::new(&frame, &conjunct("0 <= i and crd(i) = 3")).unwrap_err();
        assert!(error.to_string().contains("crd(i)"), "{error}");
    }

    #[test]
    fn projection_and_re_embedding_widen_a_set() {
        let frame = csr_frame();
        let full = set(&frame, CSR);
        let outer = full.keep_first_dims(1);
        assert_eq!(outer.frame().dims.len(), 1);
        assert_eq!(outer.to_string(), "{ 0 <= p0 < I }");
        let back = outer.with_frame(&frame);
        assert_eq!(back.frame(), &frame);
        assert!(full.is_subset(&back) && !back.is_subset(&full));
        // Also when the order differs or a dimension turns into a parameter.
        let mut turned = Frame::clone(&frame);
        turned.dims.reverse();
        let p0 = turned.dims.pop().unwrap();
        turned.params.push(p0);
        let turned = Rc::new(turned);
        let there = full.with_frame(&turned);
        assert!(there.with_frame(&frame).is_equal(&full));
    }

    #[test]
    fn dimensions_become_the_last_parameters() {
        let frame = Rc::new(Frame::of_vars(["n"], ["a", "b", "c"]));
        let moved = set(&frame, "0 <= a < b and b < c and c < n").dims_to_params(1, 1);
        let names: Vec<String> = moved.frame().params.iter().map(Atom::to_string).collect();
        assert_eq!(names, ["n", "b"]);
        let expected = set(moved.frame(), "0 <= a < b and b < c and c < n");
        assert!(moved.is_equal(&expected));
    }

    #[test]
    fn gist_leaves_what_the_context_does_not_say() {
        let frame = csr_frame();
        let context = set(&frame, "0 <= p0 < I and i = p0");
        let rest = set(&frame, CSR).gist(&context).project_out(5, 2);
        assert_eq!(rest.to_string(), "{ pos(p0) <= p1 < pos(p0 + 1) }");
    }

    #[test]
    fn an_implication_may_speak_of_atoms_outside_the_frame() {
        let frame = Rc::new(Frame::of_vars(["n"], ["i", "j"]));
        let s = set(&frame, "0 <= i and i < j and j < n");
        assert!(s.implies(&conjunct("i + 2 <= n")[0]));
        assert!(!s.implies(&conjunct("i + 3 <= n")[0]));
        assert!(s.implies(&conjunct("i != j")[0]));
        assert!(!s.implies(&conjunct("i = z")[0]));
        let never = Constraint::eq(Affine::constant(1), Affine::constant(2));
        assert!(!s.implies(&never) && Set::empty(&frame).implies(&never));
        assert!(set(&frame, "2*i = 2*j + 1").implies(&never));
    }

    #[test]
    fn a_sample_lies_in_the_set() {
        let frame = Rc::new(Frame::of_vars(["n"], ["i", "j"]));
        let s = set(&frame, "7 <= i and j = 2*i + n and n >= 3");
        let point = s.sample().unwrap();
        assert!(point[0] >= 3 && point[1] >= 7 && point[2] == 2 * point[1] + point[0], "{point:?}");
        assert_eq!(set(&frame, "i < j and j < i").sample(), None);
    }

    #[test]
    fn bounds_are_found_per_dimension() {
        let frame = Rc::new(Frame::of_vars(["n"], ["i", "j"]));
        let s = set(&frame, "0 <= i and j <= n");
        let found = [0, 1].map(|d| (s.has_lower_bound(d), s.has_upper_bound(d)));
        assert_eq!(found, [(true, false), (false, true)]);
        // The bound may be another dimension.
        assert!(set(&frame, "i <= j").has_lower_bound(1));
    }

    #[test]
    fn coefficients_beyond_32_bits_survive() {
        let frame = Rc::new(Frame::of_vars([""; 0], ["i", "j"]));
        let (i, j) = (Affine::var("i"), Affine::var("j"));
        let large = [
            Constraint::eq(i, j.clone() * 5_000_000_000),
            Constraint::le(Affine::constant(1_000_000_000), j.clone()),
        ];
        let s = Set::new(&frame, &large).unwrap();
        assert_eq!(s.constraints()[0].len(), 2);
        assert!(large.iter().all(|c| s.implies(c)));
        assert_eq!(s.sample().unwrap()[0] % 5_000_000_000, 0);
        let farther = Constraint::le(Affine::constant(9_000_000_000_000_000_000), j);
        let s = s.intersect(&Set::new(&frame, &[farther]).unwrap());
        assert_eq!(s.sample(), None, "the point does not fit 64 bits");
        // The failed conversion must not disturb later calls.
        assert!(!set(&frame, "i = j").is_empty());
    }

    #[test]
    #[should_panic(expected = "different frames")]
    fn sets_over_different_frames_do_not_mix() {
        let a = Set::universe(&Rc::new(Frame::of_vars([""; 0], ["i"])));
        let b = Set::universe(&Rc::new(Frame::of_vars([""; 0], ["j"])));
        a.is_subset(&b);
    }

    #[test]
    fn threads_do_not_share_isl() {
        let work = |k: i64| {
            let frame = Rc::new(Frame::of_vars(["n"], ["i", "j"]));
            let s = set(&frame, "0 <= i < n and floor(j/3) = i and j != 4");
            (0..20).all(|_| s.subtract(&set(&frame, &format!("i < {k}"))).constraints().len() == 2)
        };
        let threads: Vec<_> = (-2..2).map(|k| std::thread::spawn(move || work(k))).collect();
        assert!(threads.into_iter().all(|t| t.join().unwrap()));
    }

    /// The truth of constraints over variables `a`, `b`, `c` at a point.
    fn holds(constraint: &Constraint, point: [i64; 3]) -> bool {
        constraint
            .substitute(&|name: &Name| Some(Affine::constant(point["abc".find(&**name).unwrap()])))
            .as_bool()
            .unwrap()
    }

    fn a_linear_form() -> impl Strategy<Value = Affine> {
        let term = (0..3_usize, -3..4_i64).prop_map(|(v, c)| Affine::var(&"abc"[v..v + 1]) * c);
        let linear = (prop::collection::vec(term, 1..3), -4..5_i64).prop_map(|(terms, k)| {
            terms.into_iter().fold(Affine::constant(k), |sum, term| sum + term)
        });
        (linear.clone(), linear, 1..5_i64, -2..3_i64)
            .prop_map(|(plain, inner, d, c)| plain + inner.floor_div(d) * c)
    }

    fn a_conjunction() -> impl Strategy<Value = Vec<Constraint>> {
        let relop = prop::sample::select(vec![Relop::Eq, Relop::Ge, Relop::Ge, Relop::Ne]);
        let constraint =
            (a_linear_form(), relop).prop_map(|(affine, relop)| Constraint { affine, relop });
        prop::collection::vec(constraint, 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn operations_agree_with_membership_point_by_point(
            one in a_conjunction(),
            two in a_conjunction(),
        ) {
            let frame = Rc::new(Frame::of_vars(["a"], ["b", "c"]));
            let (x, y) = (Set::new(&frame, &one).unwrap(), Set::new(&frame, &two).unwrap());
            let results = [
                x.intersect(&y).constraints(),
                x.union(&y).coalesce().constraints(),
                x.subtract(&y).constraints(),
                x.gist(&y).intersect(&y).detect_equalities().constraints(),
                x.complement().make_disjoint().constraints(),
                x.project_out(1, 1).with_frame(&frame).constraints(),
            ];
            let mut met = false;
            for a in -3..=3 { for b in -3..=3 { for c in -3..=3 {
                let point = [a, b, c];
                let (p, q) = (one.iter().all(|k| holds(k, point)), two.iter().all(|k| holds(k, point)));
                met |= p && q;
                let expected = [p && q, p || q, p && !q, p && q, !p];
                for (k, expected) in expected.into_iter().enumerate() {
                    let found = results[k].iter().any(|d| d.iter().all(|k| holds(k, point)));
                    prop_assert_eq!(found, expected, "operation {} at {:?}", k, point);
                }
                // The shadow holds at every c as soon as it holds at one.
                let shadow = results[5].iter().any(|d| d.iter().all(|k| holds(k, point)));
                prop_assert!(shadow || !p, "shadow at {:?}", point);
            }}}
            prop_assert_eq!(x.is_subset(&y), x.subtract(&y).is_empty());
            let wide = x.project_out(1, 1).with_frame(&frame);
            prop_assert!(x.is_subset(&wide) && x.subtract(&wide).is_empty());
            prop_assert!(Set::from_dnf(&frame, &wide.constraints()).unwrap().is_equal(&wide));
            prop_assert!(x.implies(&Constraint::eq(Affine::var("d"), Affine::var("d"))));
            prop_assert!(!(met && x.disjoint(&y)));
            if let Some(point) = x.sample() {
                let point = [point[0], point[1], point[2]];
                prop_assert!(one.iter().all(|k| holds(k, point)), "sample {:?}", point);
            } else {
                prop_assert!(x.is_empty());
            }
        }
    }

    #[test]
    #[ignore = "a measurement, not a check"]
    fn how_long_building_a_set_takes() {
        let frame = csr_frame();
        let rows =
            conjunct(&format!("{CSR} and 0 <= j < 100 and pos(p0) >= 0 and i < 50 and p1 < 90"));
        let start = std::time::Instant::now();
        for _ in 0..1000 {
            std::hint::black_box(Set::new(&frame, &rows).unwrap());
        }
        println!("{} constraints: {:?} each", rows.len(), start.elapsed() / 1000);
        let s = Set::new(&frame, &rows).unwrap();
        let start = std::time::Instant::now();
        for _ in 0..1000 {
            std::hint::black_box(s.constraints());
        }
        println!("constraints(): {:?} each", start.elapsed() / 1000);
    }
}
