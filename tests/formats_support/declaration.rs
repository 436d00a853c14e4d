//! A declaration in parts that can be changed, and its TOML text.

use std::fmt::Write;

/// A declaration of a tensor format.
#[derive(Clone, Debug, Default)]
pub struct Declaration {
    pub dims: Vec<String>,
    pub positions: Vec<String>,
    /// One list of conditions for each piece of the relation.
    pub pieces: Vec<Vec<String>>,
    /// Subscripts of the value with their extents.
    pub value: Vec<(String, String)>,
    pub arrays: Vec<IndexArray>,
    /// Names with their TOML values.
    pub params: Vec<(String, String)>,
    /// The lines of each property.
    pub properties: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct IndexArray {
    pub name: String,
    pub args: Vec<String>,
    pub domain: String,
    pub range: String,
    pub shape: Option<Vec<String>>,
    pub fill: Option<i64>,
}

impl Declaration {
    pub fn toml(&self) -> String {
        let mut out = String::new();
        let quoted = |names: &[String]| {
            names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(out, "name = \"made\"\ndims = [{}]", quoted(&self.dims));
        let tuple = format!("[{}] -> [{}]", self.positions.join(", "), self.dims.join(", "));
        let pieces: Vec<String> =
            self.pieces.iter().map(|p| format!("{tuple} : {}", p.join(" and "))).collect();
        let _ = writeln!(out, "relation = \"{{ {} }}\"", pieces.join(" ; "));
        let index: Vec<&str> = self.value.iter().map(|(e, _)| e.as_str()).collect();
        let shape: Vec<String> = self.value.iter().map(|(_, n)| n.clone()).collect();
        let _ = writeln!(out, "value = \"val({})\"", index.join(", "));
        let _ = writeln!(out, "value_shape = [{}]", quoted(&shape));
        for a in &self.arrays {
            let _ = writeln!(out, "[index.{}]\nargs = [{}]", a.name, quoted(&a.args));
            let _ = writeln!(out, "domain = \"{}\"\nrange = \"{}\"", a.domain, a.range);
            if let Some(shape) = &a.shape {
                let _ = writeln!(out, "shape = [{}]", quoted(shape));
            }
            if let Some(fill) = a.fill {
                let _ = writeln!(out, "fill = {fill}");
            }
        }
        if !self.params.is_empty() {
            out.push_str("[params]\n");
            for (name, value) in &self.params {
                let _ = writeln!(out, "{name} = {value}");
            }
        }
        for p in &self.properties {
            let _ = writeln!(out, "[[property]]\n{p}");
        }
        out
    }
}
