import ConcurrencySupport
import Processes
import WireProtocol
import WorkerLifecycle

/// The reports about the processes below this one, which the processes above have to know whatever link or parent they are told on.
extension Uplink {
    /// The processes below, as they are told to the parents.
    struct Reports: Sendable {
        /// The processes that live.
        private var living: Set<ProcessFamily> = []
        /// The ends that could not be told yet.
        private var ended: [ProcessFamily] = []
        /// Whether the present parent knows none of the living ones.
        private var isParentNew = false

        mutating func begin() { isParentNew = true }

        mutating func note(_ report: ProcessReport) {
            if report.lives { living.insert(report.family) } else { living.remove(report.family) }
        }

        mutating func keep(_ family: ProcessFamily) { ended.append(family) }

        /// Returns the reports that a new link begins with.
        mutating func takeDue() -> [ProcessReport] {
            defer { (ended, isParentNew) = ([], false) }
            let ends = ended.map { ProcessReport($0, lives: false) }
            return isParentNew ? living.map { ProcessReport($0, lives: true) } + ends : ends
        }
    }

    /// The time that the processes above may take to note a report.
    private static let reportTime = Duration.seconds(5)

    /// Reports a process below to the processes above.
    ///
    /// A beginning returns when they have taken note of it, and waits for the next link if there is none. An end that can't be told now is told
    /// on the next link.
    func report(_ report: ProcessReport) async throws {
        state.withLock { $0.reports.note(report) }
        guard report.lives else { return await reportEnd(report, to: state.withLock { $0.peer }) }
        var former: Peer?
        while let peer = await linkedPeer(after: former) {
            do {
                _ = try await peer.inspect(report.operation, "", report.payload, timeout: Self.reportTime)
                return
            } catch let error as CoordinatorError where error.code == .peerLost {
                former = peer
            }
        }
        throw CoordinatorError(.peerLost, "the parent of \(ticket.path) can't be reached", maybeExecuted: false)
    }

    private func reportEnd(_ report: ProcessReport, to peer: Peer?) async {
        do {
            guard let peer else { throw CoordinatorError(.peerLost, "there is no link") }
            _ = try await peer.inspect(report.operation, "", report.payload, timeout: Self.reportTime)
        } catch {
            state.withLock { $0.reports.keep(report.family) }
        }
    }

    /// Tells a parent on a new link what it may not know.
    func sendReports(to peer: Peer) {
        let due = state.withLock { $0.reports.takeDue() }
        if due.isEmpty { return }
        tasks.add { [self] in
            for report in due {
                if report.lives {
                    _ = try? await peer.inspect(report.operation, "", report.payload, timeout: Self.reportTime)
                } else {
                    await reportEnd(report, to: peer)
                }
            }
        }
    }

    /// Returns the peer on the link in use, after waiting for it while there is none; `nil` when there never will be one.
    private func linkedPeer(after former: Peer?) async -> Peer? {
        while true {
            let (peer, next) = state.withLock { state -> (Peer?, OneShot<Void>?) in
                if let peer = state.peer, peer !== former { return (peer, nil) }
                if !state.machine.mayBeLinked { return (nil, nil) }
                let next = state.waiting.nextLink ?? OneShot()
                state.waiting.nextLink = next
                return (nil, next)
            }
            guard let next else { return peer }
            await next.value
        }
    }

    /// Resumes the callers that wait for a link, when there is one in use or there never will be.
    func settleNextLink() {
        let next = state.withLock { state -> OneShot<Void>? in
            guard state.peer != nil || !state.machine.mayBeLinked else { return nil }
            defer { state.waiting.nextLink = nil }
            return state.waiting.nextLink
        }
        next?.settle(())
    }
}
