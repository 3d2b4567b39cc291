//! Orders of locks with their context, and whether a cycle of them can become a deadlock.
//!
//! A cycle is a deadlock if different threads come to its steps at the same time. So it is excluded if one thread alone
//! takes two of the steps; if two steps are taken with the same lock held (a gate lock), which lets one thread in at a
//! time; if a create or a join is between them; if the thread that holds a lock and the one that wants it are both
//! readers; or if a wait ends by itself. After Havelund ("Using runtime analysis to guide model checking of Java
//! programs", SPIN 2000) and Bensalem and Havelund ("Dynamic deadlock analysis of multi-threaded programs", HVC 2005).

use super::circles::{self, Edge};
use super::lives::Lives;
use blame::{Allowance, Exhausted};
use interpose::{Edge as NotedEdge, Order as NotedOrder, Region};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// One lock was acquired while another was held, in one context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Order {
    /// The slots of the two locks.
    pub held: u32,
    pub taken: u32,
    pub held_site: u64,
    pub taken_site: u64,
    /// The kernel's number of the thread, and its number among all that came; 0 where it is not known.
    pub thread: u32,
    comer: u32,
    /// The number of creates and joins before.
    position: u32,
    is_held_shared: bool,
    is_taken_shared: bool,
    is_timed: bool,
    /// The other locks that were held, and whether as a reader.
    gates: Vec<(u32, bool)>,
    /// Contexts of the edge found no room: this one stands for all of them.
    is_unknown: bool,
}

/// The reason why a cycle cannot become a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    OneThread,
    /// The slot of a lock that is held at two of the steps.
    Gate(u32),
    /// A create or a join is between two of the steps.
    JoinOrder,
    /// The slot of a lock that is held and acquired as a reader.
    Readers(u32),
    /// The slot of a lock for which the wait has an end.
    Timed(u32),
}

impl Reason {
    fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// A cycle of orders: each acquires the lock that the next one holds.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub orders: Vec<Order>,
    /// Reasons why it is excluded; empty if it is possible.
    pub reasons: Vec<Reason>,
}

impl Cycle {
    /// Returns whether it can become a deadlock.
    pub fn is_possible(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// Cycles of each kind that are named at most.
const MOST_CYCLES: usize = 100;
/// Edges that are looked at for circles; and orders that are compared, in all cycles and in one. A search that uses up
/// the rest for one cycle omits that cycle.
const MOST_STEPS: u64 = 2_000_000;
const MOST_COMPARED: u64 = 1_000_000;
const MOST_COMPARED_IN_ONE: u64 = 100_000;
/// The longest cycle that is looked for where the shortest ones are excluded.
const LONGEST_DETOUR: usize = 6;

/// All orders of a run, and the lives of its threads.
pub struct Orders {
    by_edge: HashMap<Edge, Vec<Order>>,
    lives: Lives,
    /// The orders in which each lock is held.
    after: HashMap<u32, Vec<(Edge, usize)>>,
}

/// The cycles of a run.
#[derive(Debug)]
pub struct Cycles {
    /// Each once and as short as it can be: those that are possible, then those that are excluded.
    pub found: Vec<Cycle>,
    /// Why there can be others, if there can.
    pub cut: Option<Exhausted>,
}

impl Orders {
    /// Reads the orders of the memory.
    pub fn of(region: &Region) -> Self {
        let mut by_edge: HashMap<Edge, Vec<Order>> = HashMap::new();
        for order in region.orders().filter_map(order) {
            by_edge.entry((order.held, order.taken)).or_default().push(order);
        }
        for (key, edge) in region.edges() {
            let Some((held, taken)) = NotedEdge::places(key) else { continue };
            let (held, taken) = (held as u32, taken as u32);
            let orders = by_edge.entry((held, taken)).or_default();
            if edge.is_partial.load(Relaxed) != 0 || orders.is_empty() {
                let [held_site, taken_site] = [&edge.held_site, &edge.taken_site].map(|site| site.load(Relaxed));
                let thread = edge.thread.load(Relaxed);
                orders.push(Order { held, taken, held_site, taken_site, thread, is_unknown: true, ..Order::default() });
            }
        }
        // The orders of locks that share a place are not known.
        let is_folded = |lock: u32| region.locks.get(lock as usize).is_some_and(interpose::Lock::is_folded);
        by_edge.retain(|(held, taken), _| !is_folded(*held) && !is_folded(*taken));
        Self::new(by_edge, Lives::of(region))
    }

    fn new(mut by_edge: HashMap<Edge, Vec<Order>>, lives: Lives) -> Self {
        // The order of the memory is one of hashes.
        by_edge.values_mut().for_each(|orders| orders.sort_by_key(|order| (order.comer, order.position)));
        let mut after: HashMap<u32, Vec<(Edge, usize)>> = HashMap::new();
        for (edge, orders) in &by_edge {
            after.entry(edge.0).or_default().extend((0..orders.len()).map(|place| (*edge, place)));
        }
        after.values_mut().for_each(|orders| orders.sort_unstable());
        Self { by_edge, lives, after }
    }

    /// Returns the cycles.
    pub fn cycles(&self, run: &Allowance) -> Cycles {
        if let Err(exhausted) = run.check() {
            return Cycles { found: Vec::new(), cut: Some(exhausted) };
        }
        let mut edges: Vec<Edge> = self.by_edge.keys().copied().collect();
        edges.sort_unstable();
        let edges = circles::on_circles(&edges);
        let (circles, searched) = circles::shortest(&edges, &run.part(MOST_STEPS));
        let mut found = Found { possible: Vec::new(), excluded: Vec::new(), is_short: false };
        let judged = self.judge_all(&edges, &circles, &run.part(MOST_COMPARED), &mut found);
        let is_short = found.is_short.then_some(Exhausted::Steps);
        found.excluded.truncate(MOST_CYCLES);
        let cut = searched.err().or(judged.err()).or(is_short);
        Cycles { found: found.possible.into_iter().chain(found.excluded).collect(), cut }
    }

    fn judge_all(
        &self,
        edges: &[Edge],
        circles: &[Vec<Edge>],
        compared: &Allowance,
        found: &mut Found,
    ) -> Result<(), Exhausted> {
        let (mut known, mut known_excluded): (HashSet<Edge>, HashSet<Edge>) = Default::default();
        for circle in circles {
            compared.spend(1)?;
            // A longer way round by the same step against the order is the same mistake.
            if circle.iter().any(|edge| known.contains(edge)) || found.possible.len() >= MOST_CYCLES {
                continue;
            }
            if circle.iter().all(|edge| known_excluded.contains(edge)) {
                continue;
            }
            let Some(cycle) = self.judge(circle, compared)? else {
                found.is_short = true;
                continue;
            };
            if cycle.is_possible() {
                known.extend(circle);
                found.possible.push(cycle);
            } else if circle.iter().all(|edge| !known_excluded.contains(edge)) {
                known_excluded.extend(circle);
                found.excluded.push(cycle);
            }
        }
        // Another circle through the same locks may be possible where the shortest one is excluded.
        let component = circles::components(edges);
        let mut members: HashMap<usize, Vec<&Order>> = HashMap::new();
        for edge in edges {
            members.entry(component[&edge.0]).or_default().extend(&self.by_edge[edge]);
        }
        let mut can_meet: HashMap<usize, bool> = HashMap::new();
        for (number, orders) in &members {
            can_meet.insert(*number, self.can_meet(orders, compared)?);
        }
        for edge in edges {
            if known.contains(edge) || found.possible.len() >= MOST_CYCLES || !can_meet[&component[&edge.0]] {
                continue;
            }
            let mut search = Search { orders: self, ignored: None, left: MOST_COMPARED_IN_ONE, all: compared };
            if let Some(orders) = search.detour(*edge)? {
                known.extend(orders.iter().map(|order| (order.held, order.taken)));
                found.possible.push(Cycle { orders, reasons: Vec::new() });
            }
            found.is_short |= search.left == 0;
        }
        Ok(())
    }

    /// Returns the first different pairs of call sites of an edge.
    pub fn sites(&self, edge: Edge) -> Vec<(u64, u64)> {
        const MOST: usize = 8;
        let mut sites: Vec<(u64, u64)> = Vec::new();
        for order in self.by_edge.get(&edge).into_iter().flatten() {
            let one = (order.held_site, order.taken_site);
            if !sites.contains(&one) && sites.len() < MOST {
                sites.push(one);
            }
        }
        sites
    }

    /// Returns whether any two of these orders can be taken at the same time, as far as all of them have a gate, or their
    /// threads exclude it: then no circle of them has to be looked for.
    fn can_meet(&self, orders: &[&Order], compared: &Allowance) -> Result<bool, Exhausted> {
        /// Threads at different times that are compared with each other.
        const MOST_MOMENTS: usize = 100;
        compared.spend(orders.len() as u64)?;
        if orders.iter().any(|order| order.is_unknown) {
            return Ok(true);
        }
        let gates =
            |order: &Order| order.gates.iter().filter(|(_, is_shared)| !is_shared).map(|(lock, _)| *lock).collect();
        let mut common: HashSet<u32> = orders.first().map(|first| gates(first)).unwrap_or_default();
        orders.iter().for_each(|order| common.retain(|lock| order.gates.contains(&(*lock, false))));
        if !common.is_empty() {
            return Ok(false);
        }
        let moments: HashSet<(u32, u32)> = orders.iter().map(|order| (order.comer, order.position)).collect();
        if moments.len() > MOST_MOMENTS {
            return Ok(true);
        }
        let moments: Vec<(u32, u32)> = moments.into_iter().collect();
        compared.spend((moments.len() * moments.len()) as u64)?;
        let are_apart = |one: (u32, u32), other: (u32, u32)| {
            one.0 == other.0 || self.lives.is_before(one, other) || self.lives.is_before(other, one)
        };
        Ok(moments.iter().any(|one| moments.iter().any(|other| !are_apart(*one, *other))))
    }

    /// Returns the verdict on a circle; `None` if that takes too many steps.
    fn judge(&self, circle: &[Edge], all: &Allowance) -> Result<Option<Cycle>, Exhausted> {
        // The one reason without which it would be possible, if there is one.
        let reasons = [Reason::Gate(0), Reason::OneThread, Reason::JoinOrder, Reason::Readers(0), Reason::Timed(0)];
        for ignored in std::iter::once(None).chain(reasons.map(Some)) {
            let mut search = Search { orders: self, ignored, left: MOST_COMPARED_IN_ONE, all };
            if let Some(orders) = search.assignment(circle)? {
                let mut reasons = if ignored.is_some() { self.conflicts(&orders) } else { Vec::new() };
                reasons.truncate(1);
                return Ok(Some(Cycle { orders, reasons }));
            }
            if search.left == 0 {
                return Ok(None);
            }
        }
        let orders: Vec<Order> = circle.iter().map(|edge| self.by_edge[edge][0].clone()).collect();
        let reasons = self.conflicts(&orders);
        Ok(Some(Cycle { orders, reasons }))
    }

    /// Returns the reasons why two orders cannot be taken at the same time.
    fn apart(&self, one: &Order, other: &Order) -> Vec<Reason> {
        if one.is_unknown || other.is_unknown {
            return Vec::new();
        }
        let [here, there] = [(one.comer, one.position), (other.comer, other.position)];
        let is_one_thread = one.comer == other.comer;
        let is_ordered = || !is_one_thread && (self.lives.is_before(here, there) || self.lives.is_before(there, here));
        let mut reasons: Vec<Reason> = gate(one, other).map(Reason::Gate).into_iter().collect();
        reasons.extend(is_one_thread.then_some(Reason::OneThread));
        reasons.extend(is_ordered().then_some(Reason::JoinOrder));
        reasons
    }

    /// Returns all reasons that exclude a cycle of these orders, each once.
    fn conflicts(&self, orders: &[Order]) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = Vec::new();
        for (place, one) in orders.iter().enumerate() {
            let next = &orders[(place + 1) % orders.len()];
            let pairs = orders[place + 1..].iter().flat_map(|other| self.apart(one, other));
            let found: Vec<Reason> = pairs.chain(timed(one)).chain(readers(one, next)).collect();
            for reason in found {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        reasons
    }
}

/// The cycles so far.
struct Found {
    possible: Vec<Cycle>,
    excluded: Vec<Cycle>,
    /// Whether the search for one took too many steps.
    is_short: bool,
}

/// A search for orders of different threads that can be taken at the same time.
struct Search<'a> {
    orders: &'a Orders,
    /// A reason that does not count.
    ignored: Option<Reason>,
    /// Comparisons that are left for this cycle; 0 once there were too many.
    left: u64,
    all: &'a Allowance,
}

impl<'a> Search<'a> {
    /// Returns an order of each edge of a circle.
    fn assignment(&mut self, circle: &[Edge]) -> Result<Option<Vec<Order>>, Exhausted> {
        let mut chosen = Vec::new();
        let is_found = self.extend(circle, &mut chosen)?;
        Ok(is_found.then(|| chosen.into_iter().cloned().collect()))
    }

    fn extend(&mut self, circle: &[Edge], chosen: &mut Vec<&'a Order>) -> Result<bool, Exhausted> {
        let Some(edge) = circle.get(chosen.len()) else { return Ok(true) };
        for order in &self.orders.by_edge[edge] {
            let is_last = chosen.len() + 1 == circle.len();
            if self.fits(chosen, order, is_last)? {
                chosen.push(order);
                if self.extend(circle, chosen)? {
                    return Ok(true);
                }
                chosen.pop();
            }
            if self.left == 0 {
                break;
            }
        }
        Ok(false)
    }

    /// Returns whether an order can follow these in a cycle, which it closes if it is the last one.
    fn fits(&mut self, chosen: &[&Order], order: &Order, is_last: bool) -> Result<bool, Exhausted> {
        let steps = 1 + chosen.len() as u64;
        self.left = self.left.saturating_sub(steps);
        self.all.spend(steps)?;
        let is_ignored = |reason: Reason| self.ignored.is_some_and(|ignored| ignored.is_like(reason));
        let is_free = |reason: Option<Reason>| reason.is_none_or(is_ignored);
        Ok(self.left > 0
            && is_free(timed(order))
            && is_free(chosen.last().and_then(|last| readers(last, order)))
            && is_free(chosen.first().filter(|_| is_last).and_then(|first| readers(order, first)))
            && chosen.iter().all(|one| self.orders.apart(one, order).into_iter().all(is_ignored)))
    }

    /// Returns a possible cycle that begins with this edge, be it not the shortest one.
    fn detour(&mut self, edge: Edge) -> Result<Option<Vec<Order>>, Exhausted> {
        for first in &self.orders.by_edge[&edge] {
            let mut chosen = vec![first];
            if timed(first).is_none() && self.lead_back(&mut chosen)? {
                return Ok(Some(chosen.into_iter().cloned().collect()));
            }
        }
        Ok(None)
    }

    fn lead_back(&mut self, chosen: &mut Vec<&'a Order>) -> Result<bool, Exhausted> {
        let (first, last) = (chosen[0], chosen[chosen.len() - 1]);
        for (edge, place) in self.orders.after.get(&last.taken).into_iter().flatten() {
            let order = &self.orders.by_edge[edge][*place];
            let is_last = order.taken == first.held;
            let is_new = is_last || chosen.iter().all(|one| one.held != order.taken);
            let is_short = is_last || chosen.len() + 1 < LONGEST_DETOUR;
            if self.left == 0 {
                break;
            }
            if is_new && is_short && self.fits(chosen, order, is_last)? {
                chosen.push(order);
                if is_last || self.lead_back(chosen)? {
                    return Ok(true);
                }
                chosen.pop();
            }
        }
        Ok(false)
    }
}

fn order(order: &NotedOrder) -> Option<Order> {
    let (held, taken) = NotedEdge::places(order.edge.load(Relaxed))?;
    let flags = order.flags.load(Acquire);
    let gate = |word: u32| Some(((word >> 1).checked_sub(1)?, word & 1 != 0));
    Some(Order {
        held: held as u32,
        taken: taken as u32,
        held_site: order.held_site.load(Relaxed),
        taken_site: order.taken_site.load(Relaxed),
        thread: order.thread.load(Relaxed),
        comer: order.comer.load(Relaxed),
        position: order.position.load(Relaxed),
        is_held_shared: flags & NotedOrder::HELD_SHARED != 0,
        is_taken_shared: flags & NotedOrder::TAKEN_SHARED != 0,
        is_timed: flags & NotedOrder::TIMED != 0,
        gates: order.gates.iter().map_while(|word| gate(word.load(Relaxed))).collect(),
        is_unknown: false,
    })
}

/// Returns a lock that is held in both orders, and lets one thread in at a time.
fn gate(one: &Order, other: &Order) -> Option<u32> {
    let held = |order: &Order| {
        let first = (order.held, order.is_held_shared);
        std::iter::once(first).chain(order.gates.clone()).collect::<Vec<(u32, bool)>>()
    };
    let theirs = held(other);
    let is_held = |lock: u32, is_shared: bool| {
        theirs.iter().any(|(other, is_other_shared)| *other == lock && !(is_shared && *is_other_shared))
    };
    held(one).into_iter().find(|(lock, is_shared)| is_held(*lock, *is_shared)).map(|(lock, _)| lock)
}

/// Returns the lock that the first acquires and the next holds, if both do as readers.
fn readers(one: &Order, next: &Order) -> Option<Reason> {
    (one.is_taken_shared && next.is_held_shared).then_some(Reason::Readers(one.taken))
}

fn timed(order: &Order) -> Option<Reason> {
    order.is_timed.then_some(Reason::Timed(order.taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an order of a thread.
    fn order(comer: u32, held: u32, taken: u32) -> Order {
        Order { held, taken, comer, ..Order::default() }
    }

    fn cycles(orders: &[Order]) -> Vec<(Vec<u32>, Vec<Reason>)> {
        let mut by_edge: HashMap<Edge, Vec<Order>> = HashMap::new();
        orders.iter().for_each(|order| by_edge.entry((order.held, order.taken)).or_default().push(order.clone()));
        let Cycles { found: cycles, cut } = Orders::new(by_edge, Lives::default()).cycles(&Allowance::default());
        assert_eq!(cut, None);
        // A cycle has no first lock.
        let locks = |cycle: &Cycle| {
            let mut locks: Vec<u32> = cycle.orders.iter().map(|order| order.held).collect();
            let least = locks.iter().enumerate().min_by_key(|(_, lock)| **lock).map_or(0, |(place, _)| place);
            locks.rotate_left(least);
            locks
        };
        cycles.iter().map(|cycle| (locks(cycle), cycle.reasons.clone())).collect()
    }

    #[test]
    fn opposite_orders_are_possible_only_with_two_threads() {
        assert_eq!(cycles(&[order(1, 5, 6), order(2, 6, 5)]), [(vec![5, 6], vec![])]);
        assert_eq!(cycles(&[order(1, 5, 6), order(1, 6, 5)]), [(vec![5, 6], vec![Reason::OneThread])]);
        // A second thread in one of the orders makes it possible.
        assert_eq!(cycles(&[order(1, 5, 6), order(1, 6, 5), order(2, 5, 6)]), [(vec![5, 6], vec![])]);
    }

    #[test]
    fn gate_excludes_a_cycle_if_every_order_has_it() {
        let gated = |order: Order| Order { gates: vec![(9, false)], ..order };
        let both = [gated(order(1, 5, 6)), gated(order(2, 6, 5))];
        assert_eq!(cycles(&both), [(vec![5, 6], vec![Reason::Gate(9)])]);
        let once_without = [&both[..], &[order(3, 6, 5)]].concat();
        assert_eq!(cycles(&once_without), [(vec![5, 6], vec![])]);
        let shared = both.map(|order| Order { gates: vec![(9, true)], ..order });
        assert_eq!(cycles(&shared), [(vec![5, 6], vec![])]);
    }

    #[test]
    fn readers_do_not_wait_for_readers_but_for_writers() {
        let reads = |order: Order| Order { is_held_shared: true, is_taken_shared: true, ..order };
        let found = cycles(&[reads(order(1, 5, 6)), reads(order(2, 6, 5))]);
        assert!(matches!(&found[..], [(_, reasons)] if matches!(reasons[..], [Reason::Readers(_), ..])), "{found:?}");
        assert_eq!(cycles(&[reads(order(1, 5, 6)), order(2, 6, 5)]), [(vec![5, 6], vec![])]);
    }

    #[test]
    fn one_step_against_an_order_of_many_is_one_mistake() {
        let nested = (0..10).flat_map(|held| (held + 1..10).map(move |taken| order(1, held, taken)));
        let found = cycles(&nested.chain([order(2, 7, 3)]).collect::<Vec<_>>());
        assert_eq!(found, [(vec![3, 7], vec![])]);
    }

    #[test]
    fn longer_cycle_is_found_where_the_short_one_is_excluded() {
        // 1 and 2 in both orders by one thread; 1, 2, 3 by three.
        let orders = [order(1, 1, 2), order(1, 2, 1), order(2, 2, 3), order(3, 3, 1)];
        let found = cycles(&orders);
        assert!(found.contains(&(vec![1, 2, 3], vec![])), "{found:?}");
        assert!(found.iter().any(|(locks, reasons)| locks.len() == 2 && reasons == &[Reason::OneThread]), "{found:?}");
    }

    #[test]
    fn one_thread_cannot_take_two_steps_of_a_cycle_of_three() {
        let found = cycles(&[order(1, 1, 2), order(1, 2, 3), order(2, 3, 1)]);
        assert_eq!(found, [(vec![1, 2, 3], vec![Reason::OneThread])]);
    }

    #[test]
    fn wait_with_an_end_is_no_deadlock() {
        let timed = Order { is_timed: true, ..order(1, 5, 6) };
        assert_eq!(cycles(&[timed, order(2, 6, 5)]), [(vec![5, 6], vec![Reason::Timed(6)])]);
    }

    /// All cycles of distinct locks that different threads can take at the same time, by trying each.
    fn every_cycle(orders: &[Order]) -> Vec<Vec<&Order>> {
        fn extend<'a>(orders: &'a [Order], chosen: &mut Vec<&'a Order>, all: &mut Vec<Vec<&'a Order>>) {
            for order in orders {
                let is_next = chosen.last().is_none_or(|last| last.taken == order.held);
                let is_apart =
                    |one: &&Order| one.comer != order.comer && gate(one, order).is_none() && one.held != order.held;
                if !is_next || order.is_timed || !chosen.iter().all(is_apart) {
                    continue;
                }
                chosen.push(order);
                if order.taken == chosen[0].held {
                    all.push(chosen.clone());
                } else {
                    extend(orders, chosen, all);
                }
                chosen.pop();
            }
        }
        let mut all = Vec::new();
        extend(orders, &mut Vec::new(), &mut all);
        all
    }

    #[test]
    fn edges_of_possible_cycles_are_those_that_trying_all_finds() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..500 {
            let locks = random.u32(2..7);
            let mut orders: Vec<Order> = (0..random.u32(2..16))
                .map(|_| order(random.u32(1..5), random.u32(..locks), random.u32(..locks)))
                .filter(|order| order.held != order.taken)
                .collect();
            for order in &mut orders {
                order.is_timed = random.u32(..8) == 0;
                order.gates.extend((random.u32(..4) == 0).then_some((90 + random.u32(..2), false)));
            }
            let by_trying: HashSet<Edge> =
                every_cycle(&orders).into_iter().flatten().map(|order| (order.held, order.taken)).collect();
            let possible = cycles(&orders).into_iter().filter(|(_, reasons)| reasons.is_empty());
            let found: HashSet<Edge> = possible
                .flat_map(|(locks, _)| {
                    let next = locks.iter().cycle().skip(1).copied();
                    locks.iter().copied().zip(next).collect::<Vec<Edge>>()
                })
                .collect();
            assert_eq!(found, by_trying, "{orders:?}");
        }
    }

    /// Locks that are acquired in every order, as `comer` says.
    fn dense(locks: u32, comer: impl Fn(u32) -> u32) -> Orders {
        let mut by_edge: HashMap<Edge, Vec<Order>> = HashMap::new();
        for (held, taken) in (0..locks).flat_map(|held| (0..locks).map(move |taken| (held, taken))) {
            if held != taken {
                by_edge.insert((held, taken), vec![order(comer(held), held, taken)]);
            }
        }
        Orders::new(by_edge, Lives::default())
    }

    #[test]
    fn orders_of_one_thread_need_as_many_steps_as_locks_for_each() {
        for locks in [10, 40, 160] {
            let run = Allowance::default();
            let all = dense(locks, |_| 1);
            let (edges, compared) =
                (circles::on_circles(&all.by_edge.keys().copied().collect::<Vec<Edge>>()), run.part(u64::MAX));
            let (circles, _) = circles::shortest(&edges, &run);
            let mut found = Found { possible: Vec::new(), excluded: Vec::new(), is_short: false };
            assert_eq!(all.judge_all(&edges, &circles, &compared, &mut found), Ok(()));
            assert!(found.possible.is_empty() && !found.is_short);
            let most = 8 * u64::from(locks) * edges.len() as u64;
            assert!(run.spent().max(compared.spent()) <= most, "{} {} of {most}", run.spent(), compared.spent());
        }
    }

    #[test]
    fn analysis_without_steps_says_so_and_guesses_nothing() {
        let all = dense(100, |held| held % 2);
        let whole = all.cycles(&Allowance::default());
        assert_eq!((whole.cut, whole.found.iter().filter(|cycle| cycle.is_possible()).count()), (None, MOST_CYCLES));
        let run = Allowance::default();
        run.end_within(std::time::Duration::ZERO);
        let none = all.cycles(&run);
        assert_eq!((none.cut, none.found.len()), (Some(Exhausted::Time), 0));
    }
}
