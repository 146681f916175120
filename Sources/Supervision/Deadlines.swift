/// The times at which children are to be started again, soonest first.
///
/// An entry stays when its restart is cancelled, so the reader checks whether an entry is still valid.
struct Deadlines: Sendable {
    struct Entry: Sendable, Comparable {
        let time: Duration
        /// The number of the appointment.
        let ticket: UInt64
        /// The number that the child stores, which isn't zero.
        var mark: UInt32 { UInt32(truncatingIfNeeded: ticket) }
        let id: String

        /// Appointments for the same time are kept in the order in which they were made.
        static func < (left: Entry, right: Entry) -> Bool {
            left.time == right.time ? left.ticket < right.ticket : left.time < right.time
        }
    }

    private var heap = MinimumHeap<Entry>()
    private var lastTicket: UInt64 = 0

    var count: Int { heap.count }
    var first: Entry? { heap.first }

    /// Makes an appointment, and returns what the child stores.
    mutating func add(_ id: String, at time: Duration) -> UInt32 {
        lastTicket += 1
        if UInt32(truncatingIfNeeded: lastTicket) == 0 { lastTicket += 1 }
        let entry = Entry(time: time, ticket: lastTicket, id: id)
        heap.insert(entry)
        return entry.mark
    }

    mutating func removeFirst() { heap.removeFirst() }

    /// Keeps only the entries that are still valid.
    mutating func retain(where holds: (Entry) -> Bool) { heap.removeAll { !holds($0) } }
}

/// A binary heap: the least of many elements is at hand, and adding one or taking the least out takes logarithmic time.
///
/// Of elements that are equal any may come first.
package struct MinimumHeap<Element: Comparable> {
    private var elements: [Element] = []

    package init() {}

    package var count: Int { elements.count }

    /// The least element.
    package var first: Element? { elements.first }

    package mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[child] < elements[parent] else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the least element out.
    @discardableResult
    package mutating func removeFirst() -> Element? {
        guard !elements.isEmpty else { return nil }
        elements.swapAt(0, elements.count - 1)
        let first = elements.removeLast()
        siftDown(from: 0)
        return first
    }

    /// Takes all elements out that fulfil a condition.
    package mutating func removeAll(where condition: (Element) -> Bool) {
        elements.removeAll(where: condition)
        for index in stride(from: elements.count / 2 - 1, through: 0, by: -1) { siftDown(from: index) }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var least = parent
            let left = 2 * parent + 1
            if left < elements.count, elements[left] < elements[least] { least = left }
            if left + 1 < elements.count, elements[left + 1] < elements[least] { least = left + 1 }
            guard least != parent else { return }
            elements.swapAt(parent, least)
            parent = least
        }
    }
}

extension MinimumHeap: Sendable where Element: Sendable {}
