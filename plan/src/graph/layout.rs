//! The positions of a graph's nodes: in columns, each to the right of all its dependencies.

use super::Graph;

/// The positions of a graph's parts: columns from the left, rows from the top.
pub struct Layout {
    /// The place of each node.
    pub places: Vec<Place>,
    /// Lines from a node to one that needs it, through the columns between them.
    pub lines: Vec<Line>,
    /// Most rows of a column.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

/// A place: a column, and half rows from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Column from the left.
    pub column: usize,
    /// Half rows from the top.
    pub half_row: usize,
}

/// A line through places, from left to right.
pub type Line = Vec<Place>;

/// A thing in a column: a node, or a line that passes.
struct Vertex {
    column: usize,
    left: Vec<usize>,
    right: Vec<usize>,
}

/// How often columns are put in order, from the left and from the right. More changes nothing in graphs of this size.
const SWEEPS: usize = 6;

impl Layout {
    /// Lays a graph out. Lines that follow from others are left out.
    pub fn of(graph: &Graph) -> Self {
        let edges = edges(graph);
        let columns = columns(graph, &edges);
        let mut vertices: Vec<Vertex> = columns
            .iter()
            .map(|column| Vertex {
                column: *column,
                left: Vec::new(),
                right: Vec::new(),
            })
            .collect();
        let paths: Vec<Vec<usize>> = edges
            .iter()
            .map(|(from, to)| connect(&mut vertices, *from, *to))
            .collect();
        let width = columns.iter().max().map_or(0, |column| column + 1);
        let order = order(&vertices, width);
        let rows = order.iter().map(Vec::len).max().unwrap_or_default();
        let mut places = vec![
            Place {
                column: 0,
                half_row: 0
            };
            vertices.len()
        ];
        for (column, members) in order.iter().enumerate() {
            for (row, member) in members.iter().enumerate() {
                if let Some(place) = places.get_mut(*member) {
                    let half_row = rows - members.len() + 2 * row;
                    *place = Place { column, half_row };
                }
            }
        }
        let lines = paths.into_iter().map(|path| {
            let places = path.into_iter().filter_map(|vertex| places.get(vertex));
            places.copied().collect()
        });
        Self {
            lines: lines.collect(),
            places: places.iter().take(graph.nodes.len()).copied().collect(),
            rows,
            columns: width,
        }
    }
}

/// The lines that are drawn, from what is needed to who needs it.
fn edges(graph: &Graph) -> Vec<(usize, usize)> {
    let nodes = graph.nodes.iter().enumerate();
    nodes
        .flat_map(|(position, node)| {
            let needs = node.needs.iter();
            let drawn = needs.filter(|need| !graph.is_implied(node, **need));
            drawn.map(move |need| (*need, position))
        })
        .collect()
}

/// The column of each node: after all that it needs, and as close to who needs it as that allows.
fn columns(graph: &Graph, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut columns = vec![0; graph.nodes.len()];
    for (from, to) in edges {
        let after = columns.get(*from).map_or(0, |column| column + 1);
        if let Some(column) = columns.get_mut(*to) {
            *column = after.max(*column);
        }
    }
    for position in (0..columns.len()).rev() {
        let users = edges.iter().filter(|(from, _)| *from == position);
        let first = users.filter_map(|(_, to)| columns.get(*to)).min().copied();
        if let (Some(first), Some(column)) = (first, columns.get_mut(position)) {
            *column = first - 1;
        }
    }
    columns
}

/// Connects two vertices, by way of one in each column between them.
fn connect(vertices: &mut Vec<Vertex>, from: usize, to: usize) -> Vec<usize> {
    let column =
        |vertices: &[Vertex], vertex: usize| vertices.get(vertex).map_or(0, |vertex| vertex.column);
    let (first, last) = (column(vertices, from), column(vertices, to));
    let mut path = vec![from];
    for column in first + 1..last {
        path.push(vertices.len());
        vertices.push(Vertex {
            column,
            left: Vec::new(),
            right: Vec::new(),
        });
    }
    path.push(to);
    for pair in path.windows(2) {
        if let [one, other] = pair {
            if let Some(vertex) = vertices.get_mut(*one) {
                vertex.right.push(*other);
            }
            if let Some(vertex) = vertices.get_mut(*other) {
                vertex.left.push(*one);
            }
        }
    }
    path
}

/// The vertices of each column from the top: each near the middle of its neighbours (Sugiyama's barycentres).
fn order(vertices: &[Vertex], width: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); width];
    for (position, vertex) in vertices.iter().enumerate() {
        if let Some(column) = order.get_mut(vertex.column) {
            column.push(position);
        }
    }
    for sweep in 0..SWEEPS {
        let from_left = sweep % 2 == 0;
        for step in 0..width {
            let column = if from_left { step } else { width - 1 - step };
            let heights = heights(&order, vertices.len());
            let middle = |vertex: &usize| {
                let vertex = vertices.get(*vertex);
                let neighbours = vertex.map(|vertex| match from_left {
                    true => &vertex.left,
                    false => &vertex.right,
                });
                let neighbours = neighbours.into_iter().flatten();
                let heights: Vec<f64> = neighbours
                    .filter_map(|other| heights.get(*other).copied())
                    .collect();
                match heights.len() {
                    0 => None,
                    count => Some(heights.iter().sum::<f64>() / count as f64),
                }
            };
            if let Some(members) = order.get_mut(column) {
                members.sort_by(|one, other| {
                    let own = |vertex: &usize| heights.get(*vertex).copied().unwrap_or_default();
                    let one = middle(one).unwrap_or_else(|| own(one));
                    let other = middle(other).unwrap_or_else(|| own(other));
                    one.total_cmp(&other)
                });
            }
        }
    }
    order
}

/// The height of each vertex in its column; the middle is zero.
fn heights(order: &[Vec<usize>], count: usize) -> Vec<f64> {
    let mut heights = vec![0.0; count];
    for members in order {
        let middle = (members.len() as f64 - 1.0) / 2.0;
        for (row, member) in members.iter().enumerate() {
            if let Some(height) = heights.get_mut(*member) {
                *height = row as f64 - middle;
            }
        }
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::super::tests::graph;
    use super::*;

    #[test]
    fn every_line_goes_to_the_right_and_no_two_things_share_a_place() {
        let layout = Layout::of(&graph());
        assert_eq!(layout.lines.len(), 5);
        for line in &layout.lines {
            for pair in line.windows(2) {
                assert_eq!(pair[0].column + 1, pair[1].column, "{line:?}");
            }
        }
        let columns: Vec<usize> = layout.places.iter().map(|place| place.column).collect();
        assert_eq!(columns, [0, 0, 2, 1, 2, 3]);
        for (position, place) in layout.places.iter().enumerate() {
            assert!(!layout.places[position + 1..].contains(place), "{place:?}");
        }
    }
}
