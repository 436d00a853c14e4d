//! Plots as the template draws them: every place is known.

use serde::Serialize;

use super::axis::{Axis, Tick};

pub const WIDTH: f64 = 760.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 12.0;

/// Points of several strategies in a rectangle.
#[derive(Serialize)]
pub struct Plot {
    pub title: String,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x_label: String,
    y_label: String,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    series: Vec<Series>,
    /// What the machine can do: from one end to the other.
    roof: Option<[f64; 4]>,
    roof_label: String,
    /// The names stand beside the points.
    named: bool,
}

/// What belongs together.
#[derive(Serialize)]
pub struct Series {
    pub name: String,
    pub style: Style,
    /// Of the line between points, if there is one.
    path: String,
    marks: Vec<Mark>,
}

/// How a strategy looks in every plot.
#[derive(Clone, Serialize)]
pub struct Style {
    pub colour: String,
    pub dash: String,
    pub width: f64,
    /// Rings, which show what lies below them.
    pub ring: bool,
}

#[derive(Serialize)]
struct Mark {
    x: f64,
    y: f64,
    /// Ends of the bar through the point.
    bar: Option<[f64; 4]>,
    title: String,
}

/// A point before it has a place.
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Between which the middle half of the runs lies.
    pub spread: Option<[f64; 2]>,
    pub title: String,
}

/// Strategies in words.
pub struct Labels<'a> {
    pub title: String,
    pub x: &'a str,
    pub y: &'a str,
}

/// How the numbers of a dimension are laid out and written.
pub struct Scale<'a> {
    pub numbers: Vec<f64>,
    /// The end of a linear one, and how far it reaches at least.
    pub linear: Option<[f64; 2]>,
    pub label: &'a dyn Fn(f64) -> String,
}

impl Scale<'_> {
    fn axis(&self, start: f64, end: f64) -> Axis {
        let numbers = self.numbers.iter().copied();
        match self.linear {
            Some([least, most]) => Axis::linear(least, most, numbers, start, end),
            None => Axis::log(numbers, start, end),
        }
    }
}

impl Plot {
    /// Points by two numbers; consecutive ones are joined if `joined`. `slope` is that of the roof.
    pub fn by_numbers(
        labels: Labels<'_>,
        x: &Scale<'_>,
        y: &Scale<'_>,
        points: Vec<(String, Style, Vec<Point>)>,
        joined: bool,
        slope: Option<(f64, String)>,
    ) -> Plot {
        let bottom = 340.0;
        let (xs, ys) = (x.axis(LEFT, RIGHT), y.axis(bottom, TOP));
        let place = |(name, style, points): (String, Style, Vec<Point>)| {
            let marks = points.into_iter().map(|p| {
                let (at, title) = (xs.at(p.x), p.title);
                let bar = p.spread.map(|[low, high]| [at, ys.at(low), at, ys.at(high)]);
                Mark { x: at, y: ys.at(p.y), bar, title }
            });
            let marks: Vec<Mark> = marks.collect();
            let path = if joined { line(&marks) } else { String::new() };
            Series { name, style, path, marks }
        };
        let (roof, roof_label) = match slope {
            Some((slope, label)) => {
                let ([from, to], [low, high]) = (xs.ends(), ys.ends());
                let from = from.max(low / slope);
                let to = to.min(high / slope);
                let ends = [xs.at(from), ys.at(from * slope), xs.at(to), ys.at(to * slope)];
                ((from < to).then_some(ends), label)
            }
            None => (None, String::new()),
        };
        Plot {
            title: labels.title,
            width: WIDTH,
            height: bottom + 50.0,
            left: LEFT,
            right: RIGHT,
            top: TOP,
            bottom,
            x_label: labels.x.to_string(),
            y_label: labels.y.to_string(),
            x_ticks: xs.ticks(x.label),
            y_ticks: ys.ticks(y.label),
            series: points.into_iter().map(place).collect(),
            roof,
            roof_label,
            named: false,
        }
    }

    /// A line for each name, with one point.
    pub fn by_names(
        labels: Labels<'_>,
        x: &Scale<'_>,
        points: Vec<(String, Style, Point)>,
    ) -> Plot {
        let each = 26.0;
        let bottom = TOP + each * points.len() as f64;
        let xs = x.axis(LEFT + 40.0, RIGHT);
        let mut y_ticks = Vec::new();
        let mut series = Vec::new();
        for (k, (name, style, point)) in points.into_iter().enumerate() {
            let y = TOP + each * (k as f64 + 0.5);
            y_ticks.push(Tick { at: y, label: name.clone() });
            let bar = point.spread.map(|[low, high]| [xs.at(low), y, xs.at(high), y]);
            let marks = vec![Mark { x: xs.at(point.x), y, bar, title: point.title }];
            series.push(Series { name, style, path: String::new(), marks });
        }
        Plot {
            title: labels.title,
            width: WIDTH,
            height: bottom + 50.0,
            left: LEFT + 40.0,
            right: RIGHT,
            top: TOP,
            bottom,
            x_label: labels.x.to_string(),
            y_label: labels.y.to_string(),
            x_ticks: xs.ticks(x.label),
            y_ticks,
            series,
            roof: None,
            roof_label: String::new(),
            named: true,
        }
    }
}

fn line(marks: &[Mark]) -> String {
    let points = marks.iter().map(|mark| format!("{},{}", mark.x, mark.y));
    points.collect::<Vec<_>>().join(" ")
}

/// Which strategy is the fastest: a row for each choice of layouts, a column for each density.
#[derive(Serialize)]
pub struct Map {
    pub width: f64,
    pub height: f64,
    pub cells: Vec<Cell>,
    pub rows: Vec<Tick>,
    pub columns: Vec<Tick>,
    pub x_label: String,
}

#[derive(Serialize)]
pub struct Cell {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    colour: String,
    /// If it fits.
    name: String,
    title: String,
}

impl Map {
    pub fn new(rows: &[String], columns: &[f64], label: &dyn Fn(f64) -> String) -> Map {
        let left = Map::left(rows);
        let (width, height) = (Map::cell_width(rows, columns.len()), 40.0);
        let row = |(k, name): (usize, &String)| Tick {
            at: TOP + height * (k as f64 + 0.5),
            label: name.clone(),
        };
        let column = |(k, x): (usize, &f64)| Tick {
            at: super::axis::rounded(left + width * (k as f64 + 0.5)),
            label: label(*x),
        };
        Map {
            width: WIDTH,
            height: TOP + height * rows.len() as f64 + 46.0,
            cells: Vec::new(),
            rows: rows.iter().enumerate().map(row).collect(),
            columns: columns.iter().enumerate().map(column).collect(),
            x_label: String::new(),
        }
    }

    /// Names of layouts take the room that they need.
    fn left(rows: &[String]) -> f64 {
        let longest = rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        (16.0 + 7.2 * longest as f64).clamp(30.0, 300.0)
    }

    fn cell_width(rows: &[String], columns: usize) -> f64 {
        (WIDTH - 20.0 - Map::left(rows)) / columns.max(1) as f64
    }

    pub fn add(
        &mut self,
        rows: &[String],
        row: usize,
        column: usize,
        fastest: (&str, &Style, String),
    ) {
        let (name, style, title) = fastest;
        let width = Map::cell_width(rows, self.columns.len());
        let fits = name.chars().count() as f64 * 6.6 < width;
        self.cells.push(Cell {
            x: super::axis::rounded(Map::left(rows) + width * column as f64),
            y: TOP + 40.0 * row as f64,
            width: super::axis::rounded(width - 2.0),
            height: 38.0,
            colour: style.colour.clone(),
            name: if fits { name.to_string() } else { String::new() },
            title,
        });
    }
}
