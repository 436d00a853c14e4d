//! The description of a layout, as `siskin layouts NAME` prints it.

use std::fmt::Write;

use super::{IndexArray, Layout, Property};
use crate::formula::{Arith, conjunction};

impl Layout {
    /// Relation, arrays, sizes and every property with its formula, for people to read.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_description(&mut out);
        out
    }

    fn write_description(&self, out: &mut String) -> std::fmt::Result {
        match self.summary.is_empty() {
            true => writeln!(out, "{}", self.name)?,
            false => writeln!(out, "{}: {}", self.name, self.summary)?,
        }
        let dims: Vec<String> =
            self.dims.iter().map(|d| format!("{d} in 0..{}", Layout::extent_name(d))).collect();
        match dims.is_empty() {
            true => writeln!(out, "rank 0")?,
            false => writeln!(out, "rank {}: {}", dims.len(), dims.join(", "))?,
        }

        writeln!(out, "\nrelation")?;
        for (k, piece) in self.relation.pieces.iter().enumerate() {
            let tuples = format!(
                "[{}] -> [{}]",
                self.relation.positions.join(", "),
                self.relation.coordinates.join(", ")
            );
            let open = if k == 0 { "{" } else { ";" };
            let close = if k + 1 == self.relation.pieces.len() { " }" } else { "" };
            writeln!(out, "  {open} {tuples} : {}{close}", conjunction(piece))?;
        }
        let value = Arith::Call(self.value.name.clone(), self.value.index.clone());
        write!(out, "\nvalue\n  {value}, {}", elements(&self.value.len))?;
        if let Some(constant) = self.value.constant {
            write!(out, ", each {constant}")?;
        }
        writeln!(out)?;
        if let Some(fill) = self.fill {
            writeln!(out, "  {fill} where nothing is stored")?;
        }

        if !self.arrays.is_empty() {
            writeln!(out, "\nindex arrays")?;
            self.arrays.values().try_for_each(|array| write_array(out, array))?;
        }
        if !self.params.is_empty() {
            writeln!(out, "\nsizes")?;
            for (name, value) in &self.params {
                match value {
                    Some(value) => writeln!(out, "  {name} = {value}")?,
                    None => writeln!(out, "  {name} is counted when a tensor is packed")?,
                }
            }
        }
        if !self.properties.is_empty() {
            writeln!(out, "\nproperties")?;
            self.properties.iter().try_for_each(|p| write_property(out, p))?;
        }
        if !self.assumptions.is_empty() {
            let assumptions: Vec<String> =
                self.assumptions.iter().map(ToString::to_string).collect();
            writeln!(out, "\nassumed\n  {}", assumptions.join(" and "))?;
        }
        Ok(())
    }
}

fn elements(len: &Arith) -> String {
    match len {
        Arith::Int(1) => "1 element".to_string(),
        _ => format!("{len} elements"),
    }
}

fn write_array(out: &mut String, array: &IndexArray) -> std::fmt::Result {
    write!(out, "  {}({})", array.name, array.args.join(", "))?;
    write!(out, " for {}, {}", conjunction(&array.domain), elements(&array.len))?;
    if array.shape.len() > 1 {
        let shape: Vec<String> = array.shape.iter().map(ToString::to_string).collect();
        write!(out, " in rows of shape [{}]", shape.join(", "))?;
    }
    if let Some(fill) = array.fill {
        write!(out, ", padded with {fill}")?;
    }
    if array.base != 0 {
        write!(out, ", counted from {} in files", array.base)?;
    }
    writeln!(out)
}

/// `periodic-monotonic crd in segments of pos, strict` and the formula below it.
fn write_property(out: &mut String, property: &Property) -> std::fmt::Result {
    write!(out, "  {} {}", property.kind, property.arrays.join(", "))?;
    if let Some(segments) = &property.segments {
        write!(out, " in segments of {segments}")?;
    }
    if property.strict {
        write!(out, ", strict")?;
    }
    if property.decreasing {
        write!(out, ", decreasing")?;
    }
    writeln!(out, "\n    {}", property.formula)
}
