//! Grows a declaration, dimension by dimension, out of what formats are made of.

use super::declaration::{Declaration, IndexArray};
use super::random::Random;

struct Grower<'r> {
    random: &'r mut Random,
    out: Declaration,
    conditions: Vec<String>,
    /// What identifies the position reached so far, with extents.
    key: Vec<(String, String)>,
    /// Positions inside blocks, which come last.
    inner: Vec<(String, String)>,
    fresh: usize,
}

/// A declaration of rank 1 to 3 as a designer could write it.
pub fn declaration(random: &mut Random) -> Declaration {
    let rank = *random.pick(&[1, 2, 2, 2, 2, 3]);
    let dims: Vec<String> = ["i", "j", "k"][..rank].iter().map(ToString::to_string).collect();
    let out = Declaration { dims: dims.clone(), ..Declaration::default() };
    let mut grower = Grower {
        random,
        out,
        conditions: Vec::new(),
        key: Vec::new(),
        inner: Vec::new(),
        fresh: 0,
    };
    let mut open = dims;
    if grower.random.chance(40) {
        grower.random.shuffle(&mut open);
    }
    while !open.is_empty() {
        grower.level(&mut open);
    }
    grower.finish()
}

impl Grower<'_> {
    fn name(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }

    fn position(&mut self, stem: &str) -> String {
        let p = self.name(stem);
        self.out.positions.push(p.clone());
        p
    }

    fn when(&mut self, condition: String) {
        self.conditions.push(condition);
    }

    fn property(&mut self, text: String) {
        self.out.properties.push(text);
    }

    /// An array over `args`, each with its exclusive bound.
    fn array(&mut self, name: &str, args: &[(String, String)], range: String) -> &mut IndexArray {
        let bounds: Vec<String> =
            args.iter().map(|(a, n)| format!("0 <= {a} and {a} < {n}")).collect();
        self.out.arrays.push(IndexArray {
            name: name.to_string(),
            args: args.iter().map(|(a, _)| a.clone()).collect(),
            domain: bounds.join(" and "),
            range,
            shape: None,
            fill: None,
        });
        self.out.arrays.last_mut().expect("the array")
    }

    /// Stores the next dimension, or the next two.
    fn level(&mut self, open: &mut Vec<String>) {
        let d = open.remove(0);
        let extent = d.to_uppercase();
        match self.random.below(16) {
            0..=1 => self.dense(&d, &extent),
            2 => self.blocks(&d, &extent),
            3..=6 => self.compressed(&d, &extent),
            7..=8 => self.counted(&d, &extent),
            9 => self.sized(&d, &extent),
            10 => self.permuted(&d, &extent),
            11 => self.bits(&d, &extent),
            12 => self.begin_and_end(&d, &extent),
            13 if self.key.len() == 1 => self.interval(&d, &extent),
            14 if !open.is_empty() => {
                let other = open.remove(0);
                self.diagonals(&d, &other);
            }
            15 if !open.is_empty() => {
                let other = open.remove(0);
                self.list(&d, &other);
            }
            _ => self.dense(&d, &extent),
        }
    }

    fn dense(&mut self, d: &str, extent: &str) {
        let p = self.position("p");
        self.when(format!("0 <= {p} < {extent}"));
        match self.random.below(4) {
            0 => self.when(format!("{d} = {extent} - 1 - {p}")),
            _ => self.when(format!("{d} = {p}")),
        }
        self.key.push((p, extent.to_string()));
    }

    fn blocks(&mut self, d: &str, extent: &str) {
        let size = 2 + self.random.below(2);
        let (b, r) = (self.position("b"), self.position("r"));
        self.when(format!("0 <= {b} and {size}*{b} < {extent} and 0 <= {r} < {size}"));
        self.when(format!("{d} = {size}*{b} + {r} and {d} < {extent}"));
        self.key.push((b, format!("ceil({extent}/{size})")));
        self.inner.push((r, size.to_string()));
    }

    /// Promises about the coordinates `crd` of positions in segments of `pos`.
    fn order(&mut self, crd: &str, pos: Option<&str>) {
        let segments = pos.map_or(String::new(), |pos| format!("\nsegments = \"{pos}\""));
        let kind = if pos.is_some() { "periodic-monotonic" } else { "monotonic" };
        match self.random.below(8) {
            0 => {}
            1 => self.property(format!("kind = \"{kind}\"\narray = \"{crd}\"{segments}")),
            2 => self.property(format!("kind = \"injective\"\narray = \"{crd}\"{segments}")),
            3 => self.property(format!(
                "kind = \"{kind}\"\narray = \"{crd}\"{segments}\nstrict = true\n\
                 direction = \"decreasing\""
            )),
            _ => self
                .property(format!("kind = \"{kind}\"\narray = \"{crd}\"{segments}\nstrict = true")),
        }
    }

    fn compressed(&mut self, d: &str, extent: &str) {
        let (p, crd, n) = (self.position("p"), self.name("crd"), self.name("N"));
        let size = self.segments(&p, &n);
        self.when(format!("{d} = {crd}({p})"));
        let args = [(p.clone(), n.clone())];
        self.array(&crd, &args, format!("0 <= {crd}({p}) and {crd}({p}) < {extent}"));
        self.order(&crd, size.as_deref());
        self.key = vec![(p, n)];
    }

    /// Bounds `p` by segments within the key, or by the size `n`; the array of the segments.
    fn segments(&mut self, p: &str, n: &str) -> Option<String> {
        let key = self.key.clone();
        let Some(((last, extent), outer)) = key.split_last() else {
            self.when(format!("0 <= {p} < {n}"));
            self.out.params.push((n.to_string(), "\"count\"".to_string()));
            return None;
        };
        let pos = self.name("pos");
        let names: Vec<String> = key.iter().map(|(a, _)| a.clone()).collect();
        let before: String = outer.iter().map(|(a, _)| format!("{a}, ")).collect();
        self.when(format!("{pos}({}) <= {p} < {pos}({before}{last} + 1)", names.join(", ")));
        let call = format!("{pos}({})", names.join(", "));
        let bounds: Vec<String> =
            outer.iter().map(|(a, e)| format!("0 <= {a} and {a} < {e}")).collect();
        let own = format!("0 <= {last} and {last} <= {extent}");
        let domain = bounds.into_iter().chain([own]).collect::<Vec<_>>().join(" and ");
        self.out.arrays.push(IndexArray {
            name: pos.clone(),
            args: names,
            domain,
            range: format!("0 <= {call} and {call} <= {n}"),
            shape: (!outer.is_empty()).then(|| key.iter().map(|(_, e)| e.clone()).collect()),
            fill: None,
        });
        if self.random.chance(95) {
            self.property(format!("kind = \"monotonic\"\narray = \"{pos}\""));
        }
        let zeros = vec!["0"; key.len()].join(", ");
        let some: Vec<String> = outer.iter().map(|(_, e)| format!("0 < {e}")).collect();
        let premise = match some.is_empty() {
            true => String::new(),
            false => format!("{} and 0 < {extent} => ", some.join(" and ")),
        };
        self.property(format!("formula = \"{premise}{pos}({zeros}) = 0\""));
        let size = match outer.is_empty() && self.random.chance(50) {
            true => format!("\"{pos}({extent})\""),
            false => "\"count\"".to_string(),
        };
        self.out.params.push((n.to_string(), size));
        outer.is_empty().then_some(pos)
    }

    fn counted(&mut self, d: &str, extent: &str) {
        if self.key.is_empty() {
            return self.compressed(d, extent);
        }
        let (p, len) = (self.position("p"), self.name("len"));
        let (crd, w) = (self.name("crd"), self.name("W"));
        let key = self.key.clone();
        let names: Vec<String> = key.iter().map(|(a, _)| a.clone()).collect();
        let call = format!("{len}({})", names.join(", "));
        self.when(format!("0 <= {p} < {call} and {p} < {w}"));
        let all = format!("{}, {p}", names.join(", "));
        self.when(format!("{d} = {crd}({all})"));
        self.array(&len, &key, format!("0 <= {call} and {call} <= {w}"));
        let args: Vec<_> = key.iter().cloned().chain([(p.clone(), w.clone())]).collect();
        let fill = self.random.chance(90).then_some(0);
        let range = format!("0 <= {crd}({all}) and {crd}({all}) < {extent}");
        self.array(&crd, &args, range).fill = fill;
        if self.random.chance(60) {
            let given: Vec<String> =
                key.iter().map(|(a, e)| format!("0 <= {a} and {a} < {e}")).collect();
            let one = format!("{}, x", names.join(", "));
            let two = format!("{}, y", names.join(", "));
            self.property(format!(
                "formula = \"{} and 0 <= x and x < y and y < {call} and y < {w} => \
                 {crd}({one}) < {crd}({two})\"",
                given.join(" and ")
            ));
        }
        let width = match self.random.below(3) {
            0 => (1 + self.random.below(4)).to_string(),
            _ => "\"count\"".to_string(),
        };
        self.out.params.push((w.clone(), width));
        self.key.push((p, w));
    }

    fn sized(&mut self, d: &str, extent: &str) {
        let (p, idx, n) = (self.position("p"), self.name("idx"), self.name("K"));
        let mut args = self.key.clone();
        args.push((p.clone(), n.clone()));
        let names: Vec<String> = args.iter().map(|(a, _)| a.clone()).collect();
        let call = format!("{idx}({})", names.join(", "));
        self.when(format!("0 <= {p} < {n} and {d} = {call}"));
        let low = if self.random.chance(50) { -1 } else { 0 };
        let fill = match (low, self.random.below(3)) {
            (_, 0) => None,
            (low, _) => Some(low),
        };
        self.array(&idx, &args, format!("{low} <= {call} and {call} < {extent}")).fill = fill;
        if low < 0 {
            self.when(format!("0 <= {d}"));
        }
        let size = match self.random.below(2) {
            0 => (1 + self.random.below(3)).to_string(),
            _ => "\"count\"".to_string(),
        };
        self.out.params.push((n.clone(), size));
        self.key.push((p, n));
    }

    fn permuted(&mut self, d: &str, extent: &str) {
        let (p, perm) = (self.position("p"), self.name("perm"));
        self.when(format!("0 <= {p} < {extent} and {d} = {perm}({p})"));
        let args = [(p.clone(), extent.to_string())];
        self.array(&perm, &args, format!("0 <= {perm}({p}) and {perm}({p}) < {extent}"));
        let kind = *self.random.pick(&["permutation", "permutation", "injective"]);
        self.property(format!("kind = \"{kind}\"\narray = \"{perm}\""));
        self.key.push((p, extent.to_string()));
    }

    fn bits(&mut self, d: &str, extent: &str) {
        let (p, bit) = (self.position("p"), self.name("bit"));
        let mut args = self.key.clone();
        args.push((p.clone(), extent.to_string()));
        let names: Vec<String> = args.iter().map(|(a, _)| a.clone()).collect();
        let call = format!("{bit}({})", names.join(", "));
        self.when(format!("0 <= {p} < {extent} and {d} = {p} and {call} = 1"));
        self.array(&bit, &args, format!("0 <= {call} and {call} <= 1")).fill = Some(0);
        self.key.push((p, extent.to_string()));
    }

    fn begin_and_end(&mut self, d: &str, extent: &str) {
        if self.key.is_empty() {
            return self.compressed(d, extent);
        }
        let (p, crd, n) = (self.position("p"), self.name("crd"), self.name("N"));
        let (begin, end) = (self.name("begin"), self.name("end"));
        let key = self.key.clone();
        let names: Vec<String> = key.iter().map(|(a, _)| a.clone()).collect();
        let at = names.join(", ");
        self.when(format!("{begin}({at}) <= {p} < {end}({at}) and {d} = {crd}({p})"));
        for name in [&begin, &end] {
            self.array(name, &key, format!("0 <= {name}({at}) and {name}({at}) <= {n}"));
        }
        let args = [(p.clone(), n.clone())];
        self.array(&crd, &args, format!("0 <= {crd}({p}) and {crd}({p}) < {extent}"));
        self.property(format!("kind = \"disjoint\"\narrays = [\"{begin}\", \"{end}\"]"));
        self.out.params.push((n.clone(), "\"count\"".to_string()));
        self.key = vec![(p, n)];
    }

    /// Whole intervals of coordinates.
    fn interval(&mut self, d: &str, extent: &str) {
        let (p, n, first) = (self.position("p"), self.name("N"), self.name("first"));
        let Some(pos) = self.segments(&p, &n) else { return };
        let key = self.key.clone();
        let u = &key[0].0;
        self.when(format!("{d} = {p} - {pos}({u}) + {first}({u}) and 0 <= {d} < {extent}"));
        let range = format!("0 <= {first}({u}) and {first}({u}) <= {extent}");
        self.array(&first, &key, range).fill = Some(0);
        self.key = vec![(p, n)];
    }

    fn diagonals(&mut self, d: &str, other: &str) {
        let (o, p, off) = (self.position("o"), self.position("p"), self.name("off"));
        let (n, extent, across) = (self.name("D"), d.to_uppercase(), other.to_uppercase());
        self.when(format!("0 <= {o} < {n} and 0 <= {p} < {extent} and {d} = {p}"));
        self.when(format!("{other} = {p} + {off}({o}) and 0 <= {other} < {across}"));
        let args = [(o.clone(), n.clone())];
        let range = format!("0 - {extent} < {off}({o}) and {off}({o}) < {across}");
        self.array(&off, &args, range);
        let direction = if self.random.chance(30) { "\ndirection = \"decreasing\"" } else { "" };
        self.property(format!("kind = \"monotonic\"\narray = \"{off}\"\nstrict = true{direction}"));
        self.out.params.push((n.clone(), "\"count\"".to_string()));
        self.key.push((o, n));
        self.key.push((p, extent));
    }

    /// Both coordinates of each entry.
    fn list(&mut self, d: &str, other: &str) {
        let (p, n) = (self.position("p"), self.name("N"));
        let (row, col) = (self.name("row"), self.name("col"));
        let segments = self.segments(&p, &n);
        let args = [(p.clone(), n.clone())];
        for (name, dim) in [(&row, d), (&col, other)] {
            self.when(format!("{dim} = {name}({p})"));
            let extent = dim.to_uppercase();
            self.array(name, &args, format!("0 <= {name}({p}) and {name}({p}) < {extent}"));
        }
        let strict = if self.random.chance(70) { "\nstrict = true" } else { "" };
        match segments {
            _ if self.random.chance(20) => {}
            Some(pos) => self.property(format!(
                "kind = \"periodic-lexicographic\"\narrays = [\"{row}\", \"{col}\"]\n\
                 segments = \"{pos}\"{strict}"
            )),
            None => self.property(format!(
                "kind = \"lexicographic\"\narrays = [\"{row}\", \"{col}\"]{strict}"
            )),
        }
        self.key = vec![(p, n)];
    }

    fn finish(mut self) -> Declaration {
        self.key.append(&mut self.inner);
        self.out.value = self.key.clone();
        self.out.pieces = vec![self.conditions];
        self.out
    }
}
