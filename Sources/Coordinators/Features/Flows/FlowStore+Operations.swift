import ConcurrencySupport
public import Flows
import Logging
public import WireProtocol

extension FlowStore {
    /// The flows that are meant of all.
    public enum Selection: String, Sendable, Hashable, Codable, CaseIterable {
        /// Those that aren't over.
        case open
        /// Those that don't go on before an operator says how.
        case parked
        /// Those that have something to do now.
        case due
        /// Those that have come to their end in the last seven days.
        case finished
    }

    /// A flow, as an operator sees it.
    public struct Description: Sendable, Hashable, Codable {
        /// The progress of a flow.
        public enum Status: String, Sendable, Hashable, Codable, CaseIterable {
            /// It goes on, or waits for messages.
            case open
            /// Its pages are undone.
            case unwinding
            /// It doesn't go on before an operator says how.
            case parked
            /// It has come to its end with an output.
            case finished
            /// It has come to its end by undoing all that it had done.
            case unwound

            init(_ record: FlowRecord) {
                switch record.standing {
                case .open, .finishing: self = record.parking == nil ? .open : .parked
                case .unwinding: self = record.parking == nil ? .unwinding : .parked
                case .finished: self = .finished
                case .unwound: self = .unwound
                }
            }
        }

        /// The flow's path below the coordinator that provides the store.
        public let key: String
        /// The name of its coordinator's type.
        public let type: String
        /// The progress.
        public let status: Status
        /// The pages that are shown, bottom first.
        public let pages: [JSONValue]
        /// The number of the page that is worked on, or would be if the flow weren't parked, among all that it has shown; `nil`: none.
        public let pageNumber: UInt64?
        /// The latest failure, in words.
        public let error: String?
        /// The number of attempts that have failed at the page that is worked on.
        public let failures: Int
        /// The number of messages that haven't left, or whose end isn't known.
        public let outgoing: Int
        /// The time from which on the flow has something to do; `nil`: it waits.
        public let due: WallTime?
        /// The time of the latest change.
        public let changed: WallTime
        /// The flow's state, as its store has it; `nil` unless it was asked for.
        public let state: JSONValue?

        private init(_ row: FlowRow, withState: Bool) throws(CoordinatorError) {
            let record = try row.decoded()
            state = withState ? record.state.value : nil
            (key, type, status, pages) = (row.key, record.type, row.status, record.pages.map(\.value))
            let pending = record.pending?.showing
            pageNumber = pending?.number
            let showing = pending ?? record.showings.last { $0.error != nil }
            (error, failures) = (record.parking?.error ?? showing?.error, showing?.failures ?? 0)
            (outgoing, changed) = (record.outgoing.count, row.changed)
            // Work that is due has no time of its own.
            due = row.due.map { max($0, WallTime(nanoseconds: 0)) }
        }

        /// Describes a flow; one whose record this build can't read by what else is known of it.
        static func of(_ row: FlowRow, withState: Bool = false) -> Description {
            (try? Description(row, withState: withState)) ?? Description(unreadable: row)
        }

        private init(unreadable row: FlowRow) {
            (key, type, status, pages, failures, outgoing) = (row.key, "unknown", row.status, [], 0, 0)
            (pageNumber, error, due, changed, state) = (nil, "its record can't be read by this build", row.due, row.changed, nil)
        }
    }

    /// Returns flows in the order of their keys.
    ///
    /// - Parameters:
    ///   - key: The key after which they begin; `nil`: from the first on.
    ///   - limit: The number of flows at most; 1,000 by default.
    /// - Throws: `storeInUse`, `storeCorrupt`.
    public func flows(after key: String? = nil, limit: Int = 1_000) async throws -> [Description] {
        _ = try await core.open()
        return try await core.storage.rows(after: key, limit: limit).map { Description.of($0) }
    }

    /// Has the work of a flow that was parked, or waits for its next attempt, be tried again at once.
    ///
    /// The flow's coordinator is started if it doesn't live.
    ///
    /// - Parameter key: The flow's path below the coordinator that provides the store.
    /// - Throws: `noSuchChild`; what the start throws.
    public func retry(_ key: String) async throws { try await core.flow(key).operate { $0.retry(at: $1) } }

    /// Says that the page that is worked on has come to its end, outside of the flow: that it was performed, or undone.
    ///
    /// The flow then goes on with what is next, or waits with the page on top.
    ///
    /// - Parameters:
    ///   - key: The flow's path below the coordinator that provides the store.
    ///   - page: The number of the page that is meant, as ``Description/pageNumber`` has it: the flow may have gone on since it was looked at. Whichever it
    ///     is by default.
    ///   - state: The state that the flow has after that, such as one with the receipt of what was done outside; as before by default.
    /// - Throws: As `retry`; `startFailed` when the flow doesn't work on that page, and `coding` when its type can't read the state, and nothing has
    ///   changed.
    public func skip(_ key: String, page: UInt64? = nil, state: JSONValue? = nil) async throws {
        try await core.flow(key).operate { record, now in
            let pending = record.pending?.showing.number
            guard page == nil || page == pending else {
                throw CoordinatorError(
                    .startFailed,
                    "the flow \(key) has gone on to \(pending.map { "page number \($0)" } ?? "no page"), and nothing has changed: look at it again"
                )
            }
            record.skip(FlowRecord.Change(state: state.map { JSONText($0) }), at: now)
        }
    }

    /// Has a flow undo all that it has done.
    ///
    /// A page whose outcome isn't known is performed before that.
    ///
    /// - Parameters:
    ///   - key: The flow's path below the coordinator that provides the store.
    ///   - reason: The reason, which whoever waits for the flow gets.
    /// - Throws: As `retry`.
    public func cancel(_ key: String, because reason: String) async throws {
        try await core.flow(key).operate { record, now in
            record.retry(at: now)
            record.change(FlowRecord.Change([.unwind(because: reason)]), at: now)
        }
    }

    /// Starts the coordinator of a flow, if it doesn't live.
    ///
    /// - Throws: As `retry`.
    public func resume(_ key: String) async throws { _ = try await core.flow(key) }
}

// MARK: - Flows by their paths

extension FlowStore {
    /// A flow with its place in the tree.
    public struct Entry: Sendable, Hashable, Codable {
        /// The path of the flow's coordinator.
        public let path: CoordinatorPath
        /// The flow, as its store has it.
        public let flow: Description

        /// About the bytes of the entry in an answer.
        var size: Int {
            let texts = "\(path)".utf8.count + flow.key.utf8.count + flow.type.utf8.count + (flow.error?.utf8.count ?? 0)
            return flow.pages.reduce(256 + texts) { $0 + JSONWriter.text(of: $1).count }
        }
    }

    /// Flows of the stores of a tree.
    public struct Listing: Sendable, Hashable, Codable {
        /// The flows, in the order of their paths.
        public var entries: [Entry] = []
        /// The path after which there are more; `nil`: there are none.
        public var next: CoordinatorPath?
        /// The coordinators that didn't answer, so that the flows of their stores aren't there.
        public var unanswered: [CoordinatorPath] = []

        /// Returns what a process may tell, which knows of what is at a path and below alone, and goes on where it was asked to.
        func own(of path: CoordinatorPath, after: CoordinatorPath?) -> Listing {
            var own = self
            own.entries.removeAll { entry in
                !entry.path.isWithin(path) || after.map { !"\($0)".precedes("\(entry.path)") } ?? false
            }
            own.unanswered.removeAll { !$0.isWithin(path) }
            own.next = next.flatMap { _ in own.entries.last?.path }
            return own
        }

        /// Adds the flows of other stores, and keeps as many as are wanted, and as one answer holds.
        mutating func add(_ others: [Listing], limit: Int) {
            // Behind the end of one that was cut, others may have flows that would come between.
            let end = (others.map(\.next) + [next]).compactMap { $0.map { "\($0)" } }.min { $0.precedes($1) }
            let all = (others.flatMap(\.entries) + entries).map { (text: "\($0.path)", entry: $0) }
                .sorted { $0.text.precedes($1.text) }.filter { item in end.map { !$0.precedes(item.text) } ?? true }
            unanswered += others.flatMap(\.unanswered)
            var size = 0
            entries = all.map(\.entry).prefix(limit).prefix { entry in
                defer { size += entry.size }
                return size == 0 || size + entry.size <= FlowStoreCore.answerLimit
            }
            next = end != nil || entries.count < all.count ? entries.last?.path : nil
        }
    }

    /// A request for flows of all stores at a path and below.
    struct ListRequest: Codable, Sendable {
        var selection: Selection?
        var after: CoordinatorPath?
        var limit: Int
    }

    /// A request about one flow.
    struct FlowRequest: Codable, Sendable {
        enum Action: String, Codable { case show, retry, skip, cancel, resume }

        var action: Action
        /// The reason of a cancellation.
        var reason: String?
        /// The number of the page that is to be skipped; `nil`: whichever it is.
        var page: UInt64?
        /// The state after a page was skipped; `nil`: as before.
        var state: JSONValue?
        /// Whether the answer has the flow's state.
        var showsState: Bool?
    }
}

extension CoordinatorRuntime {
    /// Returns durable flows of the tree, of all stores in all its processes.
    ///
    /// - Parameters:
    ///   - path: The path at and below which the flows are; the root by default.
    ///   - selection: The flows that are meant; all by default.
    ///   - after: The path after which they begin, as ``FlowStore/Listing/next`` has it; `nil`: from the first on.
    ///   - limit: The number of flows at most; 1,000 by default, and at most. Fewer come when they have much to show.
    /// - Throws: `noSuchPath`.
    public func flows(
        below path: CoordinatorPath = .root,
        _ selection: FlowStore.Selection? = nil,
        after: CoordinatorPath? = nil,
        limit: Int = 1_000
    ) async throws -> FlowStore.Listing {
        let request = FlowStore.ListRequest(selection: selection, after: after, limit: min(max(limit, 1), 1_000))
        return try await operate(.flows, path, request)
    }

    /// Returns the durable flow of the coordinator at a path, whether it lives or not.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - withState: Whether the flow's state is wanted, too.
    /// - Throws: `noSuchPath` when no store above the path has a flow there.
    public func flow(_ path: CoordinatorPath, withState: Bool = false) async throws -> FlowStore.Entry {
        try await operate(path, FlowStore.FlowRequest(action: .show, showsState: withState))
    }

    /// Has the work of a flow that was parked, or waits for its next attempt, be tried again at once; see ``FlowStore/retry(_:)``.
    ///
    /// - Returns: The flow after that.
    /// - Throws: As ``flow(_:withState:)``; what the start of the flow's coordinator throws.
    @discardableResult
    public func retryFlow(_ path: CoordinatorPath) async throws -> FlowStore.Entry {
        try await operate(path, FlowStore.FlowRequest(action: .retry))
    }

    /// Says that the page that a flow works on has come to its end outside of the flow; see ``FlowStore/skip(_:page:state:)``.
    ///
    /// - Throws: As ``retryFlow(_:)``; as ``FlowStore/skip(_:page:state:)``.
    @discardableResult
    public func skipFlow(_ path: CoordinatorPath, page: UInt64? = nil, state: JSONValue? = nil) async throws -> FlowStore.Entry {
        try await operate(path, FlowStore.FlowRequest(action: .skip, page: page, state: state))
    }

    /// Has a flow undo all that it has done; see ``FlowStore/cancel(_:because:)``.
    ///
    /// - Throws: As ``retryFlow(_:)``.
    @discardableResult
    public func cancelFlow(_ path: CoordinatorPath, because reason: String) async throws -> FlowStore.Entry {
        try await operate(path, FlowStore.FlowRequest(action: .cancel, reason: reason))
    }

    /// Starts the coordinator of a flow, if it doesn't live.
    ///
    /// - Throws: As ``retryFlow(_:)``.
    @discardableResult
    public func resumeFlow(_ path: CoordinatorPath) async throws -> FlowStore.Entry {
        try await operate(path, FlowStore.FlowRequest(action: .resume))
    }

    private func operate(_ path: CoordinatorPath, _ request: FlowStore.FlowRequest) async throws -> FlowStore.Entry {
        let entry: FlowStore.Entry = try await operate(.flow, path, request)
        // Whatever a process says that it is about.
        return FlowStore.Entry(path: path, flow: entry.flow)
    }

    private func operate<Answer: Decodable>(_ operation: Operation, _ path: CoordinatorPath, _ request: some Encodable) async throws
        -> Answer
    {
        var budget = TimeoutBudget.initial
        budget.argument = try request.encodedAsJSON()
        do {
            return try Answer(decoding: try await root.operate(operation, on: path.components[...], budget: budget))
        } catch {
            throw Failures.restored(error)
        }
    }
}

extension CoordinatorCell {
    /// The time that a store is given to tell of itself for the description of its owner.
    private static var patienceOfDescriptions: Duration { .seconds(1) }

    /// The numbers of the flows of the store that this coordinator owns.
    var flowsSnapshot: CoordinatorSnapshot.Flows? {
        get async {
            guard let core = existingFlows?.store else { return nil }
            let now = runtime.time.wall
            // A disk that hangs doesn't make the tree unresponsive.
            guard let summary = await core.summary(at: now, within: Self.patienceOfDescriptions, in: self) else {
                return nil
            }
            return CoordinatorSnapshot.Flows(
                open: summary.counts[.open] ?? 0,
                unwinding: summary.counts[.unwinding] ?? 0,
                parked: summary.counts[.parked] ?? 0,
                due: summary.due,
                oldestDue: summary.oldestDue.map { max(now - $0, .zero) },
                outboxAge: core.oldestMessage(at: now).map { max(now - $0, .zero) },
                commitP99: core.commitP99
            )
        }
    }

    /// Returns the flows of the stores here and below that are at a path or below it.
    func listFlows(_ rest: ArraySlice<Substring>, _ budget: TimeoutBudget) async throws -> JSONValue {
        let request = try FlowStore.ListRequest(decoding: budget.argument ?? .null)
        var listing = FlowStore.Listing()
        let core = existingFlows?.store
        if let core { listing = try await core.list(request, of: self, rest) }
        if let key = rest.first.map(String.init) {
            do {
                guard let supervision = existingChildren else { throw noSuchPath(key) }
                let below = try await supervision.relay(.flows, to: key, rest.dropFirst(), budget)
                let own = try FlowStore.Listing(decoding: below).own(of: path.appending(key), after: request.after)
                listing.add([own], limit: request.limit)
            } catch let error as CoordinatorError where error.code == .unsupported || core != nil && error.saysNobodyIsThere {
                // A program has none, and the flows of this store may have no coordinator at the moment.
            }
        } else if let supervision = existingChildren {
            listing.add(await supervision.flows(budget, after: request.after), limit: request.limit)
        }
        return try listing.encodedAsJSON()
    }

    /// Carries out a request about the flow at a path, by the nearest store above it that has it.
    func operateFlow(at rest: ArraySlice<Substring>, _ budget: TimeoutBudget) async throws -> JSONValue {
        var failure = CoordinatorError(
            .noSuchPath,
            "no store of flows has one at \(path.appending(rest)): its owner may have ended, or it was over more than seven days ago"
        )
        if let key = rest.first.map(String.init), let supervision = existingChildren, supervision.has(key) {
            do {
                return try await supervision.relay(.flow, to: key, rest.dropFirst(), budget)
            } catch let error as CoordinatorError where error.saysNobodyIsThere {
                if [.stopped, .restarting].contains(error.code) { failure = error }
            }
        }
        guard let core = existingFlows?.store else { throw failure }
        let key = rest.joined(separator: "/")
        _ = try await core.open()
        guard let row = try await core.storage.row(of: key) else { throw failure }
        let request = try FlowStore.FlowRequest(decoding: budget.argument ?? .null)
        if request.action != .show {
            guard !row.isOver else {
                throw CoordinatorError(.startFailed, "the flow \(path.appending(rest)) is over: it's \(row.status.rawValue)")
            }
            do {
                try await act(request, on: key, of: FlowStore(keeping: core))
            } catch let error as CoordinatorError where error.saysNobodyIsThere {
                // The flow is there: another store further up isn't asked for it.
                throw CoordinatorError(.startFailed, "\(path.appending(rest)) can't be started for that: \(error.message)")
            }
        }
        guard let row = try await core.storage.row(of: key) else { throw failure }
        let description = FlowStore.Description.of(row, withState: request.showsState == true)
        return try FlowStore.Entry(path: path.appending(rest), flow: description).encodedAsJSON()
    }
}

extension CoordinatorCell {
    private func act(_ request: FlowStore.FlowRequest, on key: String, of store: FlowStore) async throws {
        switch request.action {
        case .show: break
        case .retry: try await store.retry(key)
        case .skip: try await store.skip(key, page: request.page, state: request.state)
        case .cancel: try await store.cancel(key, because: request.reason ?? "cancelled by an operator")
        case .resume: try await store.resume(key)
        }
    }
}

extension FlowStoreCore {
    /// Returns flows of the store at a path and below it.
    ///
    /// - Parameter rest: The path, below that of the store's owner.
    fileprivate func list(
        _ request: FlowStore.ListRequest,
        of cell: CoordinatorCell,
        _ rest: ArraySlice<Substring>
    ) async throws -> FlowStore.Listing {
        _ = try await open()
        let owner = cell.path
        var after: String?
        if let path = request.after {
            let isBelow = path.isWithin(owner)
            // All that is below the owner comes behind a path that comes before it, or none of it.
            if !isBelow, (owner.isRoot ? "/" : "\(owner)/").precedes("\(path)") { return FlowStore.Listing() }
            after = isBelow ? path.components.dropFirst(owner.components.count).joined(separator: "/") : nil
        }
        let query = FlowQuery(
            selection: request.selection,
            at: cell.runtime.time.wall,
            below: rest.isEmpty ? nil : rest.joined(separator: "/"),
            after: after
        )
        var (listing, size) = (FlowStore.Listing(), 0)
        let isComplete = try await storage.scan(query) { row in
            let entry = FlowStore.Entry(path: owner.appending(flowKey: row.key), flow: .of(row))
            guard listing.entries.count < request.limit, size + entry.size <= Self.answerLimit || listing.entries.isEmpty else {
                return false
            }
            size += entry.size
            listing.entries.append(entry)
            return true
        }
        if !isComplete { listing.next = listing.entries.last?.path }
        return listing
    }
}

extension ChildSupervisor {
    /// Returns the flows of the stores of all children and below them.
    fileprivate func flows(_ budget: TimeoutBudget, after: CoordinatorPath?) async -> [FlowStore.Listing] {
        await withTaskGroup(of: FlowStore.Listing?.self) { group in
            var listings: [FlowStore.Listing] = []
            for key in keys {
                if asksOthers(about: key) {
                    group.addTask { await self.flows(of: key, budget, after) }
                } else if withSlot(key, { ($0.host as? CoordinatorCell)?.existingFlows?.store != nil }) == true,
                    let listing = await flows(of: key, budget, after)
                {
                    listings.append(listing)
                }
            }
            for await listing in group { if let listing { listings.append(listing) } }
            return listings
        }
    }

    private func flows(of key: String, _ budget: TimeoutBudget, _ after: CoordinatorPath?) async -> FlowStore.Listing? {
        let path = cell.path.appending(key)
        // One that was stopped has no store open; nobody knows that of one that is to live again.
        guard withSlot(key, { $0.host != nil }) == true || lives(key) else { return nil }
        do {
            return try FlowStore.Listing(decoding: try await relay(.flows, to: key, [], budget)).own(of: path, after: after)
        } catch let error as CoordinatorError where error.code == .unsupported || error.saysNobodyIsThere && !lives(key) {
            return nil
        } catch {
            cell.logger.warning("flows can't be listed", metadata: ["coordinator.path": "\(path)", "error": "\(error)"])
            var listing = FlowStore.Listing()
            listing.unanswered = [path]
            return listing
        }
    }
}

extension CoordinatorError {
    /// Whether no coordinator is there at the moment that could tell of flows, or it knows none.
    fileprivate var saysNobodyIsThere: Bool { [.noSuchPath, .noSuchChild, .stopped, .unsupported, .restarting].contains(code) }
}
