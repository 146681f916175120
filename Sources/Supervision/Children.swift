/// A child as its supervisor knows it.
struct Child: Sendable {
    /// The cause of the latest start, which decides what happens if the start fails.
    enum Launch: Sendable {
        /// The id was unknown: after a failure the child is forgotten (OTP's `start_child`).
        case first
        /// The specification was kept, as stopped: after a failure it stays so (OTP's `restart_child`).
        case again
        /// The child was alive, or is to be kept alive: a failure leads to another attempt.
        case restart
    }

    // The small properties stand together, so that they share the room that the state leaves.
    var specification: ChildSpecification
    var state: ChildState
    var launch = Launch.first
    /// Whether the child has failed for good: only a request starts it again, not the restart of a sibling.
    var hasGivenUp = false
    /// Whether the child is being stopped because it has reported that it has nothing left to do, and not by request.
    var isFinishing = false
    /// Whether the latest restart follows a normal end, so that it's none of a row.
    var hasEndedNormally = false
    /// The number of the latest incarnation, whether it has begun or not.
    var incarnation: Incarnation
    var storedAttempts: Int32 = 0
    /// The number of restarts in a row, without a long enough time of being ready between them.
    var attempts: Int {
        get { Int(storedAttempts) }
        set { storedAttempts = Int32(clamping: newValue) }
    }
    /// The child's place in ``Children``, which saves a look-up by id; valid until the next removal.
    var place: Int {
        get { Int(storedPlace) }
        set { storedPlace = Int32(newValue) }
    }
    var storedPlace: Int32 = 0
    /// The number of the appointment in ``Deadlines`` that counts; 0: none does.
    var ticket: UInt32 = 0

    var id: String { specification.id }

    /// What children are counted by.
    struct Tally: Equatable {
        let kind: ChildState.Kind
        let isSignificantAndActive: Bool
    }

    // Without a call to which a copy of the child would be passed.
    @inline(__always)
    var tally: Tally { Tally(kind: state.kind, isSignificantAndActive: isSignificantAndActive) }

    /// Whether the child is significant and either alive and not to be stopped, or about to be started.
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
struct Children: Sendable {
    private var slots: [Slot] = []
    private var places = PlaceIndex<Slot>()
    /// The place of the child that was added or looked for last: what follows is often about it, and needs no look-up.
    private var latest: Int?
    private var counts = [Int](repeating: 0, count: ChildState.Kind.allCases.count)
    /// The number of children that are significant and active; see ``Child/isSignificantAndActive``.
    private(set) var significantCount = 0

    /// A place, with the child that is there.
    ///
    /// None is an optional: to read a part of one, all of it would be copied.
    private struct Slot: Named {
        /// The place whose child is gone.
        static let gap = Slot(child: Child(specification: ChildSpecification(id: ""), state: .stopped, incarnation: 0, storedPlace: -1))

        var child: Child

        var name: String { child.id }
        var isGap: Bool { child.storedPlace < 0 }
    }

    var inOrder: some Sequence<Child> { slots.lazy.filter { !$0.isGap }.map(\.child) }

    /// Returns the place of a child, about which the next questions will be.
    mutating func find(_ id: String) -> Int? { note(place(of: id)) }

    mutating func find(_ id: HashedName) -> Int? { note(places.place(of: id, in: slots)) }

    private mutating func note(_ place: Int?) -> Int? {
        if let place { latest = place }
        return place
    }

    /// Returns the place of a child, which is valid until the next removal.
    func place(of id: String) -> Int? {
        if let latest, !slots[latest].isGap, slots[latest].name == id { return latest }
        return places.place(of: id, in: slots)
    }

    subscript(id: String) -> Child? { place(of: id).map { slots[$0].child } }

    /// The child at a place that isn't a gap.
    subscript(place: Int) -> Child {
        _read {
            assert(!slots[place].isGap)
            yield slots[place].child
        }
    }

    func count(in kind: ChildState.Kind) -> Int {
        counts[kind.rawValue]
    }

    /// Returns the id of the child at this place and of all that were added after it.
    func ids(from place: Int) -> [String] {
        slots[place...].lazy.filter { !$0.isGap }.map(\.name)
    }

    /// Adds a child at the end and returns its place.
    mutating func append(_ child: Child) -> Int { append(child, HashedName(child.id)) }

    mutating func append(_ child: consuming Child, _ id: HashedName) -> Int {
        let place = slots.count
        child.place = place
        latest = place
        slots.append(Slot(child: child))
        places.insert(id, at: place)
        count(slots[place].child.tally, 1)
        return place
    }

    mutating func update(_ place: Int, _ change: (inout Child) -> Void) {
        assert(!slots[place].isGap)
        let former = slots[place].child.tally
        change(&slots[place].child)
        let tally = slots[place].child.tally
        if tally == former { return }
        count(former, -1)
        count(tally, 1)
    }

    @discardableResult
    mutating func remove(_ place: Int) -> Child? {
        if slots[place].isGap { return nil }
        places.remove(slots[place].name, in: slots)
        let child = slots[place].child
        slots[place] = .gap
        count(child.tally, -1)
        if slots.count > 32, slots.count > 2 * places.count {
            reorder(Array(inOrder))
        }
        return child
    }

    /// Puts children into this order, behind those that aren't named.
    mutating func arrange(_ ids: [String]) {
        let named = Set(ids)
        let others = inOrder.filter { !named.contains($0.id) }
        reorder(others + ids.compactMap { self[$0] })
    }

    private mutating func count(_ tally: Child.Tally, _ change: Int) {
        counts[tally.kind.rawValue] += change
        if tally.isSignificantAndActive { significantCount += change }
    }

    /// Puts all children into this order, without gaps.
    private mutating func reorder(_ children: [Child]) {
        var moved = [Int32](repeating: -1, count: slots.count)
        slots = []
        slots.reserveCapacity(children.count)
        for var child in children {
            moved[child.place] = Int32(slots.count)
            child.place = slots.count
            slots.append(Slot(child: child))
        }
        latest = nil
        places.renumber(moved, to: slots.count)
    }
}

/// The last incarnations of children that were removed, so that no number is used twice for an id.
///
/// Remembering every id for ever would be a leak under many short-lived children. Past the limit all are folded into one number:
/// the highest of them, above which every new child then begins.
struct ForgottenIncarnations: Sendable {
    static var limit: Int { 1_024 }

    private var latest: [String: Incarnation] = [:]
    private var floor: Incarnation = 0

    var count: Int { latest.count }

    /// Returns the last incarnation that an id may have had, and drops the id from here, since it is a child again.
    mutating func recall(_ id: String) -> Incarnation {
        latest.isEmpty ? floor : max(latest.removeValue(forKey: id) ?? 0, floor)
    }

    mutating func remember(_ id: String, _ incarnation: Incarnation) {
        latest[id] = incarnation
        if latest.count > Self.limit {
            floor = max(floor, latest.values.max() ?? 0)
            latest.removeAll(keepingCapacity: true)
        }
    }
}
