package import ConcurrencySupport
package import Processes
import WireProtocol

/// The root's part when another program takes this one's place in the same process.
///
/// ``holdMessages()`` and ``waitUntilQuiet(by:)`` bring the tree's messages to rest, ``heritage(among:)`` describes what lives on, and the
/// next program gets that as ``Options/heritage``. ``releaseMessages()`` undoes it when there is no next program.
extension CoordinatorRuntime {
    /// The time that a worker is given to hold its messages: an older one doesn't know the request.
    private static let answerLimit = Duration.seconds(2)
    /// The time for which messages are held before those that wait get another chance: an ask that is open may depend on one of them.
    private static let holdingTime = Duration.seconds(2)
    private static let pause = Duration.milliseconds(5)

    /// A child of a coordinator of this process.
    struct Place {
        let path: CoordinatorPath
        let supervisor: ChildSupervisor
        var key: String { path.key }
        var host: (any ChildHost)? { (try? supervisor.host(of: key)) ?? nil }
    }

    /// The children of all coordinators of this process, parents first.
    private var places: [Place] {
        var found: [Place] = []
        func visit(_ cell: CoordinatorCell) {
            guard let children = cell.existingChildren else { return }
            for key in children.keys {
                let place = Place(path: cell.path.appending(key), supervisor: children)
                found.append(place)
                if let child = place.host as? CoordinatorCell { visit(child) }
            }
        }
        if let root = try? root { visit(root) }
        return found
    }

    private var peers: [Peer] { places.compactMap { ($0.host as? WorkerHost)?.currentPeer } }

    /// Has the workers keep their new messages for the next link.
    package func holdMessages() async { await tell(.hold) }

    /// Has the workers send what they have kept.
    package func releaseMessages() async { await tell(.release) }

    private func tell(_ request: UplinkHold) async {
        await withDiscardingTaskGroup { group in
            for peer in peers {
                group.addTask { _ = try? await peer.inspect(request.rawValue, "", timeout: Self.answerLimit) }
            }
        }
    }

    /// Waits until no message is on its way through this process; the messages of workers are held meanwhile.
    ///
    /// - Returns: False when the time is over and some still are.
    package func waitUntilQuiet(by deadline: PatientDeadline) async -> Bool {
        var deadline = deadline
        var chance = ContinuousClock.now + Self.holdingTime
        var quiet = 0
        while quiet < 3 {
            quiet = peers.allSatisfy(\.isQuiet) ? quiet + 1 : 0
            if deadline.look(), quiet == 0 { return false }
            if ContinuousClock.now >= chance, quiet == 0 {
                await releaseMessages()
                try? await Task.sleep(for: .milliseconds(100))
                await holdMessages()
                chance = .now + Self.holdingTime
            }
            try? await Task.sleep(for: Self.pause)
        }
        return true
    }

    /// The paths of the workers of this process that the next program can't take over, the last started first: without an orphan grace those
    /// are all, otherwise those of which no lock or record could be made, and those of a cluster's subtrees.
    package var endingWorkers: [CoordinatorPath] {
        places.filter { ($0.host as? WorkerHost)?.isAdoptable == false }.map(\.path).reversed()
    }

    /// The paths of the workers of this process that the next program takes over.
    package var adoptableWorkers: [CoordinatorPath] { places.filter { ($0.host as? WorkerHost)?.isAdoptable == true }.map(\.path) }

    /// The paths of the plain programs that run.
    package var programs: [CoordinatorPath] { places.filter { $0.host is ProgramHost }.map(\.path) }

    /// The paths of the plain programs that have ended by themselves, and of which remains or a hook still run: the next program would take
    /// them for such as run.
    package var endingPrograms: [CoordinatorPath] { places.filter { ($0.host as? ProgramHost)?.isEnding == true }.map(\.path) }

    /// Has the journal, by which the next program finds what lives on, name all of it.
    ///
    /// - Returns: An error number when the journal can't be written; `nil` when it's complete, or there is none.
    package func completeJournal() -> Int32? { core.processes.journal?.complete() }

    /// Describes what lives on in the next program, besides the workers.
    ///
    /// - Parameters:
    ///   - kept: The children whose descriptors the next program has too.
    ///   - ended: The paths of children that were paused by name, and that were ended for the next program to start again.
    package func handover(among kept: [KeptProcess], pausing ended: [String] = []) -> RuntimeHandover {
        let kept = Dictionary(kept.map { ($0.identity, $0) }) { first, _ in first }
        var handover = RuntimeHandover()
        // Those that nothing has started since this program took its place.
        handover.incarnations = core.pendingHandover?.incarnations ?? [:]
        for place in places {
            if let program = (place.host as? ProgramHost)?.handover(among: kept) { handover.programs.append(program) }
            handover.incarnations[place.path.description] = place.supervisor.incarnation(of: place.key)
        }
        let paused = pausedByName
        handover.paused = paused + ended.filter { !paused.contains($0) }
        return handover
    }

    /// The paths of the children of this process's coordinators that were paused by name, those included that a former process has left
    /// paused and nothing has started yet.
    package var pausedByName: [String] {
        let paused = places.filter { place in place.supervisor.withSlot(place.key) { $0.pauseReasons.contains(.explicit) } == true }
        return paused.map(\.path.description) + (core.pendingHandover?.paused ?? [])
    }

    /// Has children begin paused that were paused by name in a process that was killed; called before the tree is started.
    package func pauseAtStart(_ paths: [String]) { core.pauseAtStart(paths) }

    /// The boot of the machine, and the namespace of process numbers: what was noted in another one says nothing of processes in this one.
    package static var boot: String { ProcessJournal.Header.current.boot }
}

extension CoordinatorRuntime {
    /// Reads what the start reads in the directory to adopt the workers of a runtime, and touches nothing.
    ///
    /// - Throws: `startFailed` when this program can't read the runtime's journal, or a record of a worker: it wouldn't find the worker.
    package func rehearseAdoption(of process: Int32) throws(CoordinatorError) {
        for name in core.processes.directory.names where name.hasPrefix("\(process)-") && name.hasSuffix(RuntimeFiles.journalSuffix) {
            guard let text = (try? core.processes.directory.file(name)).flatMap(RuntimeFiles.text), ProcessJournal.canRead(text) else {
                throw CoordinatorError(.startFailed, "the journal \(name) in \(core.processes.directory.given ?? "") can't be read")
            }
        }
    }
}

extension WorkerHost {
    /// Whether a next program can take the worker over.
    var isAdoptable: Bool { state.withLock { $0.adoptionRecord?.record != nil } }

    /// The link in use; `nil` when there is none.
    var currentPeer: Peer? { state.withLock { $0.linkedPeer } }
}
