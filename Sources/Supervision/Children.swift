/// A child as its supervisor knows it.
struct Child<ID: Hashable & Sendable>: Sendable {
    /// Why its latest start was made, which decides what becomes of a start that fails.
    enum Launch: Sendable {
        /// The id was unknown: a failure leaves nothing behind (OTP's `start_child`).
        case first
        /// Its specification was there, as stopped: a failure leaves it there (OTP's `restart_child`).
        case again
        /// It was alive, or is to be kept alive: a failure is met with another attempt.
        case restart
    }

    var specification: ChildSpecification<ID>
    var state: ChildState
    /// The latest life, begun or not.
    var incarnation: Incarnation
    var launch = Launch.first
    /// It has failed for good: it is not brought back for a sibling's sake, only by a request.
    var hasGivenUp = false
    /// It is stopped because it has said that it has nothing left to do, and not by anybody's wish.
    var isFinishing = false
    /// The restarts in a row, without a long enough time of being ready between them.
    var attempts = 0
    /// Where it stands in ``Children``; good until the next removal, and a way to it without another look-up.
    var place = 0
    /// The number of the appointment in ``Deadlines`` that counts.
    var ticket: UInt64?

    var id: ID { specification.id }

    /// Whether the supervisor's end may hang on this child's: a significant one that is alive and not to be stopped, or about to live.
    var isSignificantAndActive: Bool {
        guard specification.isSignificant else { return false }
        return switch state {
        case .starting, .running, .waiting, .stopping(_, .start), .stopping(_, .restartWithSiblings): true
        case .stopping(_, .stop), .stopping(_, .remove), .stopped: false
        }
    }
}

/// The children in start order, with constant-time access by id.
///
/// A removed child leaves a gap; gaps are closed when they outnumber the children, so that a removal costs O(1) in the long run.
struct Children<ID: Hashable & Sendable>: Sendable {
    private var slots: [Child<ID>?] = []
    private var places: [ID: Int] = [:]
    private var counts = [Int](repeating: 0, count: ChildState.Kind.allCases.count)
    /// How many children are significant and active; see ``Child/isSignificantAndActive``.
    private(set) var significantCount = 0

    var inOrder: some Sequence<Child<ID>> { slots.lazy.compactMap { $0 } }

    subscript(id: ID) -> Child<ID>? {
        places[id].flatMap { slots[$0] }
    }

    subscript(place place: Int) -> Child<ID>? {
        slots[place]
    }

    func count(in kind: ChildState.Kind) -> Int {
        counts[kind.rawValue]
    }

    /// The child at this place and all that were started after it.
    func ids(from place: Int) -> [ID] {
        slots[place...].compactMap { $0?.id }
    }

    /// Adds a child at the end, and tells its place.
    @discardableResult
    mutating func append(_ child: Child<ID>) -> Int {
        let place = slots.count
        places[child.id] = place
        slots.append(child)
        slots[place]?.place = place
        count(child, 1)
        return place
    }

    mutating func update(_ place: Int, _ change: (inout Child<ID>) -> Void) {
        guard var child = slots[place] else { return }
        count(child, -1)
        change(&child)
        count(child, 1)
        slots[place] = child
    }

    @discardableResult
    mutating func remove(_ place: Int) -> Child<ID>? {
        guard let child = slots[place] else { return nil }
        slots[place] = nil
        places[child.id] = nil
        count(child, -1)
        if slots.count > 32, slots.count > 2 * places.count {
            closeGaps()
        }
        return child
    }

    private mutating func count(_ child: Child<ID>, _ change: Int) {
        counts[child.state.kind.rawValue] += change
        if child.isSignificantAndActive { significantCount += change }
    }

    private mutating func closeGaps() {
        slots.removeAll { $0 == nil }
        for place in slots.indices {
            guard let child = slots[place] else { continue }
            places[child.id] = place
            slots[place]?.place = place
        }
    }
}
