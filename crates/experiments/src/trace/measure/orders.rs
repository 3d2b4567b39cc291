//! Locks that are taken in one order here and in another there: who is unlucky waits for ever.

use interpose::{Edge, Region};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering::Relaxed;

/// One lock was taken while another was held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    pub held: u32,
    pub taken: u32,
    pub held_site: u64,
    pub taken_site: u64,
    pub thread: u32,
}

/// Circles that are named at most.
const MOST: usize = 100;

/// The orders that contradict each other: each circle of locks once, and as short as it can be.
pub fn inversions(region: &Region) -> Vec<Vec<Order>> {
    circles(&region.edges().filter_map(order).collect::<Vec<Order>>())
}

/// Two readers do not wait for each other.
fn order((key, edge): (u64, &Edge)) -> Option<Order> {
    let (held, taken) = Edge::places(key)?;
    let [held_site, taken_site] = [&edge.held_site, &edge.taken_site].map(|site| site.load(Relaxed));
    let (held, taken, thread) = (held as u32, taken as u32, edge.thread.load(Relaxed));
    (edge.readers.load(Relaxed) == 0).then_some(Order { held, taken, held_site, taken_site, thread })
}

/// Steps from lock to lock that are looked at in all searches together: programs of tens of thousands of orders have
/// their shortest circles named, and contend ends.
const MOST_STEPS: usize = 10_000_000;
/// Locks of one circle at most: a longer one explains nothing.
const LONGEST: usize = 64;

fn circles(orders: &[Order]) -> Vec<Vec<Order>> {
    let orders = on_circles(orders);
    let mut after: HashMap<u32, Vec<&Order>> = HashMap::new();
    orders.iter().for_each(|order| after.entry(order.held).or_default().push(order));
    let mut steps = MOST_STEPS;
    let mut with = |order: &Order| Some([vec![*order], way(&after, order.taken, order.held, &mut steps)?].concat());
    let mut all: Vec<Vec<Order>> = orders.iter().filter_map(&mut with).collect();
    all.sort_by_key(Vec::len);
    let (mut found, mut known): (Vec<Vec<Order>>, HashSet<(u32, u32)>) = Default::default();
    for circle in all {
        let step = |order: &Order| (order.held, order.taken);
        // A longer way round by the same step against the order is the same mistake.
        let is_known = circle.iter().any(|order| known.contains(&step(order)));
        if !is_known && found.len() < MOST {
            known.extend(circle.iter().map(step));
            found.push(circle);
        }
    }
    found
}

/// The orders that can be on a circle: from the others, those are taken away again and again that nothing leads to, or
/// that lead nowhere.
fn on_circles(orders: &[Order]) -> Vec<Order> {
    let forwards = without_ends(orders, |order| (order.held, order.taken));
    without_ends(&forwards, |order| (order.taken, order.held))
}

/// Without those from locks that nothing leads to, where `ends` has each order's locks in the direction that is meant.
fn without_ends(orders: &[Order], ends: impl Fn(&Order) -> (u32, u32)) -> Vec<Order> {
    let (mut leading, mut after): (HashMap<u32, usize>, HashMap<u32, Vec<u32>>) = Default::default();
    for (from, to) in orders.iter().map(&ends) {
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
    orders.iter().filter(|order| !gone.contains(&ends(order).0)).copied().collect()
}

/// The shortest way from one lock to another, unless it is longer than [`LONGEST`] or no steps are left.
fn way(after: &HashMap<u32, Vec<&Order>>, from: u32, to: u32, steps: &mut usize) -> Option<Vec<Order>> {
    let (mut came_by, mut open) = (HashMap::<u32, &Order>::new(), VecDeque::from([(from, 1)]));
    while let Some((here, length)) = open.pop_front() {
        if here == to {
            let mut way = Vec::new();
            let mut at = to;
            while at != from {
                let order = came_by[&at];
                way.push(*order);
                at = order.held;
            }
            way.reverse();
            return Some(way);
        }
        for order in after.get(&here).into_iter().flatten().filter(|_| length < LONGEST) {
            *steps = steps.checked_sub(1)?;
            if order.taken != from && !came_by.contains_key(&order.taken) {
                came_by.insert(order.taken, order);
                open.push_back((order.taken, length + 1));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(pairs: &[(u32, u32)]) -> Vec<Order> {
        pairs.iter().map(|&(held, taken)| Order { held, taken, held_site: 0, taken_site: 0, thread: 0 }).collect()
    }

    fn locks(pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
        circles(&orders(pairs)).iter().map(|circle| circle.iter().map(|order| order.held).collect()).collect()
    }

    #[test]
    fn one_order_has_no_circle_and_two_have_one() {
        let nested: Vec<(u32, u32)> = (0..10).flat_map(|held| (held + 1..10).map(move |taken| (held, taken))).collect();
        assert_eq!(locks(&nested), Vec::<Vec<u32>>::new());
        assert_eq!(locks(&[(1, 2), (2, 3), (2, 1)]), [[1, 2]]);
    }

    #[test]
    fn one_step_against_an_order_of_many_is_one_mistake() {
        let nested = (0..10).flat_map(|held| (held + 1..10).map(move |taken| (held, taken)));
        let found = locks(&nested.chain([(7, 3)]).collect::<Vec<_>>());
        assert_eq!(found, [[3, 7]]);
    }

    #[test]
    fn a_circle_of_three_is_found_once() {
        assert_eq!(locks(&[(1, 2), (2, 3), (3, 1), (3, 4)]), [[1, 2, 3]]);
    }

    #[test]
    fn what_leads_to_a_circle_or_away_from_it_is_not_searched() {
        let found = on_circles(&orders(&[(1, 2), (2, 3), (3, 2), (3, 4), (4, 5), (7, 7)]));
        let found: Vec<(u32, u32)> = found.iter().map(|order| (order.held, order.taken)).collect();
        assert_eq!(found, [(2, 3), (3, 2), (7, 7)]);
    }

    /// A search from each order through all of them would take some thousand million steps, and circles of all locks as
    /// many places in memory.
    #[test]
    fn tens_of_thousands_of_orders_have_their_short_circles_named() {
        const LOCKS: u32 = 30_000;
        let ring = (0..LOCKS).map(|lock| (lock, (lock + 1) % LOCKS));
        assert_eq!(locks(&ring.clone().collect::<Vec<_>>()), Vec::<Vec<u32>>::new());
        let found = locks(&[(7, 6)].into_iter().chain(ring).collect::<Vec<_>>());
        assert_eq!(found, [[7, 6]]);
    }
}
