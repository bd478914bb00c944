//! A table in Markdown.

use std::fmt;

/// Rows of cells; the first row is the heading.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this heading and no rows.
    pub fn new(heading: &[&str]) -> Self {
        let heading = heading.iter().map(|cell| (*cell).to_owned()).collect();
        Self {
            rows: vec![heading],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.to_vec());
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, row) in self.rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate() {
                let width = self.width(column);
                match column {
                    0 => write!(f, "| {cell:<width$} ")?,
                    _ => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")?;
            if position == 0 {
                for column in 0..row.len() {
                    let line = "-".repeat(self.width(column));
                    let end = if column == 0 { '-' } else { ':' };
                    write!(f, "|-{line}{end}")?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}
