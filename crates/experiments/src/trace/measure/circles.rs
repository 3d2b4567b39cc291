//! Circles in the graph of locks: an edge leads from a lock that was held to one that was acquired then.

use std::collections::{HashMap, HashSet, VecDeque};

/// An edge: the lock that was held, and the one that was acquired, by their slots.
pub type Edge = (u32, u32);

/// Steps from lock to lock that are looked at in all searches together: programs of tens of thousands of orders have
/// their shortest circles named, and contend ends.
const MOST_STEPS: usize = 10_000_000;
/// Locks of one circle at most: a longer one explains nothing.
const LONGEST: usize = 64;

/// Returns the shortest circle through each edge that is on one, the shortest of all first.
pub fn shortest(edges: &[Edge]) -> Vec<Vec<Edge>> {
    let edges = on_circles(edges);
    let mut after: HashMap<u32, Vec<Edge>> = HashMap::new();
    edges.iter().for_each(|edge| after.entry(edge.0).or_default().push(*edge));
    let mut steps = MOST_STEPS;
    let mut with = |edge: &Edge| Some([vec![*edge], way(&after, edge.1, edge.0, &mut steps)?].concat());
    let mut all: Vec<Vec<Edge>> = edges.iter().filter_map(&mut with).collect();
    all.sort_by_key(Vec::len);
    all
}

/// Returns the edges that can be on a circle: from the others, those are removed again and again that nothing leads to,
/// or that lead nowhere.
pub fn on_circles(edges: &[Edge]) -> Vec<Edge> {
    let forwards = without_ends(edges, |edge| edge);
    without_ends(&forwards, |(held, taken)| (taken, held))
}

/// Returns the edges without those from locks that nothing leads to, where `ends` has each edge's locks in the
/// direction that is meant.
fn without_ends(edges: &[Edge], ends: impl Fn(Edge) -> Edge) -> Vec<Edge> {
    let (mut leading, mut after): (HashMap<u32, usize>, HashMap<u32, Vec<u32>>) = Default::default();
    for (from, to) in edges.iter().map(|edge| ends(*edge)) {
        leading.entry(from).or_default();
        *leading.entry(to).or_default() += 1;
        after.entry(from).or_default().push(to);
    }
    let mut open: Vec<u32> = leading.iter().filter(|(_, count)| **count == 0).map(|(lock, _)| *lock).collect();
    let mut gone = HashSet::new();
    while let Some(lock) = open.pop() {
        gone.insert(lock);
        for next in after.get(&lock).into_iter().flatten() {
            let count = leading.entry(*next).or_default();
            *count -= 1;
            if *count == 0 {
                open.push(*next);
            }
        }
    }
    edges.iter().filter(|edge| !gone.contains(&ends(**edge).0)).copied().collect()
}

/// Returns the shortest way from one lock to another, unless it is longer than [`LONGEST`] or no steps are left.
fn way(after: &HashMap<u32, Vec<Edge>>, from: u32, to: u32, steps: &mut usize) -> Option<Vec<Edge>> {
    let (mut came_by, mut open) = (HashMap::<u32, Edge>::new(), VecDeque::from([(from, 1)]));
    while let Some((here, length)) = open.pop_front() {
        if here == to {
            let mut way = Vec::new();
            let mut at = to;
            while at != from {
                let edge = came_by[&at];
                way.push(edge);
                at = edge.0;
            }
            way.reverse();
            return Some(way);
        }
        for edge in after.get(&here).into_iter().flatten().filter(|_| length < LONGEST) {
            *steps = steps.checked_sub(1)?;
            if edge.1 != from && !came_by.contains_key(&edge.1) {
                came_by.insert(edge.1, *edge);
                open.push_back((edge.1, length + 1));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks(edges: &[Edge]) -> Vec<Vec<u32>> {
        shortest(edges).iter().map(|circle| circle.iter().map(|edge| edge.0).collect()).collect()
    }

    #[test]
    fn one_order_has_no_circle_and_two_have_one() {
        let nested: Vec<Edge> = (0..10).flat_map(|held| (held + 1..10).map(move |taken| (held, taken))).collect();
        assert_eq!(locks(&nested), Vec::<Vec<u32>>::new());
        assert_eq!(locks(&[(1, 2), (2, 3), (2, 1)]), [[1, 2], [2, 1]]);
    }

    #[test]
    fn a_circle_of_three_is_found_from_each_of_its_edges() {
        assert_eq!(locks(&[(1, 2), (2, 3), (3, 1), (3, 4)]), [[1, 2, 3], [2, 3, 1], [3, 1, 2]]);
    }

    #[test]
    fn edges_to_a_circle_or_away_from_it_are_not_searched() {
        let found = on_circles(&[(1, 2), (2, 3), (3, 2), (3, 4), (4, 5), (7, 7)]);
        assert_eq!(found, [(2, 3), (3, 2), (7, 7)]);
    }

    /// A search from each edge through all of them would take some thousand million steps, and circles of all locks as
    /// many places in memory.
    #[test]
    fn tens_of_thousands_of_edges_have_their_short_circles_named() {
        const LOCKS: u32 = 30_000;
        let ring = (0..LOCKS).map(|lock| (lock, (lock + 1) % LOCKS));
        assert_eq!(locks(&ring.clone().collect::<Vec<_>>()), Vec::<Vec<u32>>::new());
        let found = locks(&[(7, 6)].into_iter().chain(ring).collect::<Vec<_>>());
        assert_eq!(found, [[7, 6], [6, 7]]);
    }
}
