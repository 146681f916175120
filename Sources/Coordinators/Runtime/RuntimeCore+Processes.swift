import ConcurrencySupport
import Glibc
import Links
import Logging
import Processes
import Synchronization

/// The processes of the tree, each known to all processes above it, and to the next runtime in the same directory.
extension RuntimeCore {
    /// The time within which the remains of a killed runtime must end.
    private static let formerLimit = Duration.seconds(20)
    /// The time within which a runtime's own process ends when it's killed.
    private static let deathLimit = Duration.seconds(1)

    /// Returns the entry that distinguishes this runtime's processes from all others: the directory, the root's process, and the runtime's
    /// number in it.
    ///
    /// - Parameter boot: The boot and the namespace of process numbers, for tests.
    static func markEntry(_ directory: RuntimeFiles, number: Int, boot: String = ProcessJournal.Header.current.boot) -> String {
        "\(directoryEntry(directory, boot))\(getpid()).\(ProcessIdentity.current.startTime).\(number)"
    }

    private static func directoryEntry(_ directory: RuntimeFiles, _ boot: String) -> String {
        // A container's processes are visible here, and may have a directory of the same path: to them a process number means another.
        var hash = FNV1a()
        // The path may have slashes and be long, so its hash is used.
        hash.add("\(directory.given ?? "")\n\(boot)".utf8)
        return "r\(directory.given == nil ? "" : hash.text)."
    }

    /// Records a process of the tree that has begun, here and in all processes above, before it's used.
    ///
    /// - Parameter worker: The family of this process's own worker that has reported the process; `nil`: this process has spawned it.
    func processBegan(_ family: ProcessFamily, below worker: ProcessFamily? = nil) async throws {
        processes.hasSpawned.store(true, ordering: .relaxed)
        processes.journal?.began(family, below: worker?.entry)
        try await links.uplink?.report(ProcessReport(family, lives: true))
    }

    /// Records that nothing is left of a process of the tree.
    func processEnded(_ family: ProcessFamily) async {
        processes.journal?.ended(family.leader)
        #if !SLOW_PATH_ONLY
        returnMemoryAfterEnd()
        #endif
        try? await links.uplink?.report(ProcessReport(family, lives: false))
    }

    /// Ends the remains of some processes whose leaders have ended, or are to end now.
    ///
    /// - Parameters:
    ///   - areRemembered: Whether the families are known from a file, so that their numbers may have been reused.
    ///   - killed: A function that gets the processes that are killed, before their end is awaited.
    func end(_ families: [ProcessFamily], areRemembered: Bool = false, killed: (Set<ProcessIdentity>) -> Void = { _ in }) async {
        for process in await ProcessFamily.end(families, areRemembered: areRemembered, killed: killed) {
            observation.logger.error("a process of another user can't be ended", metadata: ["process": "\(process)"])
        }
    }

    /// Prepares the start of the tree: becomes a subreaper if that is set, ends the remains of a former runtime, and finds its workers that
    /// can be adopted.
    func takeOver() async throws {
        pendingHandover?.claim(by: processes.spawner.spawner)
        // What the former program has written is read before this one writes to a file of the same name.
        let own = options.handover == nil ? [] : journals.map(\.content).filter { $0.header.owner == .current && $0.header.isOfThisBoot }
        processes.journal?.carry(own.flatMap(\.entries))
        do throws(ProcessError) {
            if isSubreaper { try Subreaper.becomeSubreaper() }
        } catch {
            throw CoordinatorError(.startFailed, error.message)
        }
        if isSubreaper { try await claimDirectory() }
        try await endFormer(own)
    }

    /// Makes this process known as the directory's owner, unless it has one that lives.
    ///
    /// The lock of the daemon doesn't suffice, since the directory can be removed and made anew. The processes of its former owner carry
    /// the directory in their marks.
    ///
    /// - Throws: An error when another process owns the directory, since a path could then live twice. Of two processes that claim it at
    ///   once, at most one succeeds.
    private func claimDirectory() async throws {
        processes.journal?.startJournal()
        var deadline = PatientDeadline(Self.deathLimit)
        while let owner = try journalOwner ?? markedOwner() {
            // A process that has just been killed has released its lock, and may live for a moment.
            guard !deadline.look() else {
                throw CoordinatorError(
                    .startFailed,
                    "another runtime, of process \(owner.processID), lives in \(self.processes.directory.given ?? ""); end it first, or name another directory"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Another process that lives and has a journal in the directory.
    private var journalOwner: ProcessIdentity? {
        journals.map(\.content.header).first { $0.isAlive && $0.owner != .current }?.owner
    }

    /// Returns another process that lives and has started processes for the directory that live too.
    private func markedOwner() throws(CoordinatorError) -> ProcessIdentity? {
        func livingOwner(of entry: String) -> ProcessIdentity? {
            owner(of: entry).flatMap { $0 != .current && $0.isAlive && processes.directory.isSeen(by: $0.processID) ? $0 : nil }
        }
        do throws(ProcessError) {
            return try LeftoverProcesses.mark { livingOwner(of: $0) != nil }?.entries.lazy.compactMap(livingOwner).first
        } catch {
            throw CoordinatorError(.startFailed, error.message)
        }
    }

    /// Ends the remains of a killed runtime in the directory: its processes, its journal, its sockets.
    ///
    /// - Throws: An error when some of it lives on, since a path could then live twice.
    /// - Parameter own: The journals that the former program in this process has written.
    private func endFormer(_ own: [ProcessJournal.Content]) async throws {
        guard links.uplink == nil, processes.directory.given != nil else { return }
        do {
            _ = try processes.directory.file("")
        } catch {
            throw CoordinatorError(.startFailed, error.message)
        }
        try await lockDirectory()
        let deadline = ContinuousClock.now + Self.formerLimit
        let journals = journals.filter { !$0.content.header.isAlive }
        let (orphans, isInherited) = inherit(journals.map(\.content) + own)
        let leaders = pendingHandover?.leaders ?? []
        let spared = Set(orphans?.carried.map(\.family) ?? [])
        let remains = (journals.map(\.content) + own).flatMap(\.living).filter {
            !spared.contains($0) && !leaders.contains($0.leader)
        }
        var ended: Set<ProcessIdentity> = []
        func recordEnds(_ killed: Set<ProcessIdentity>) { ended.formUnion(killed) }
        var left = await ProcessFamily.end(remains, by: deadline, areRemembered: true, killed: recordEnds)
        let marks = (orphans?.marks ?? []).union(pendingHandover?.marks ?? [])
        // Those whose journal is lost are known by the marks of their processes.
        var marked: Set<ProcessIdentity> = []
        func isFormer(_ entry: String) -> Bool {
            guard let owner = owner(of: entry), !owner.isAlive else { return false }
            marked.insert(owner)
            return true
        }
        left += await LeftoverProcesses.end(by: deadline, where: isFormer, sparing: marks, killed: recordEnds)
        logEnd(of: ended.subtracting(left), owners: marked.union(journals.map(\.content.header.owner)))
        guard left.isEmpty else {
            let list = Set(left.map(\.processID)).sorted().map(String.init).joined(separator: ", ")
            throw CoordinatorError(.startFailed, "processes that a former runtime has left can't be ended: \(list); end them first")
        }
        for family in remains { processes.directory.removeSockets(of: family.leader.processID) }
        if isInherited { for journal in journals { processes.directory.removeFile(journal.name) } }
        removeStaleFiles(sparing: (orphans?.files ?? []).union(pendingHandover?.files ?? []))
        if let orphans { await awaitOrphans(of: orphans) }
    }

    private func logEnd(of processes: Set<ProcessIdentity>, owners: Set<ProcessIdentity>) {
        if processes.isEmpty { return }
        func list(_ processes: some Sequence<ProcessIdentity>) -> String {
            processes.map(\.processID).sorted().map(String.init).joined(separator: ", ")
        }
        observation.logger.notice(
            "what a former runtime has left was ended",
            metadata: [
                "runtime.directory": "\(self.processes.directory.given ?? "")", "former": "\(list(owners))",
                "processes": "\(list(processes))",
                "count": "\(processes.count)",
            ]
        )
    }

    /// Ends the descendants of this process that have left the tree, after the tree has ended.
    func endLeftoverProcesses() async {
        guard links.uplink == nil, processes.hasSpawned.load(ordering: .relaxed) else { return }
        if isSubreaper { await LeftoverProcesses.endInherited() }
        await end([ProcessFamily(leader: ProcessIdentity(processID: 0, startTime: 0), entry: processes.mark.entries.last ?? "")])
    }

    /// Returns the process of the runtime that has made an entry; `nil` when it isn't of a runtime in the same directory.
    private func owner(of entry: String) -> ProcessIdentity? {
        let prefix = Self.directoryEntry(processes.directory, ProcessJournal.Header.current.boot)
        guard processes.directory.given != nil, entry.hasPrefix(prefix) else { return nil }
        let fields = entry.dropFirst(prefix.count).split(separator: ".")
        guard fields.count == 3, let processID = Int32(fields[0]), let startTime = UInt64(fields[1]) else { return nil }
        return ProcessIdentity(processID: processID, startTime: startTime)
    }

    /// The journals in the directory, each with its processes that may still exist.
    private var journals: [(name: String, content: ProcessJournal.Content)] {
        processes.directory.names.filter { $0.hasSuffix(RuntimeFiles.journalSuffix) }.compactMap { name in
            guard let path = try? processes.directory.file(name), let text = RuntimeFiles.text(of: path),
                let journal = ProcessJournal.read(text)
            else { return nil }
            return (name, journal.header.isOfThisBoot ? journal : ProcessJournal.Content(header: journal.header, entries: []))
        }
    }

    /// Removes the root's former sockets, the sockets of ended processes, which are named after the process that listens, such as 4711.sock,
    /// and the locks and FIFOs of workers.
    private func removeStaleFiles(sparing spared: Set<String>) {
        for name in processes.directory.names where !spared.contains(name) {
            let suffixes = [RuntimeFiles.outputSuffix, RuntimeFiles.lockSuffix, RuntimeFiles.notifySuffix]
            if suffixes.contains(where: name.hasSuffix) { processes.directory.removeFile(name) }
            // A journal that a killed process was writing anew.
            if name.hasSuffix("\(RuntimeFiles.journalSuffix).new"), !name.hasPrefix("\(getpid())-") { processes.directory.removeFile(name) }
            guard let listener = RuntimeFiles.listener(at: name) else { continue }
            if listener == RuntimeFiles.rootName { processes.directory.removeFile(name) }
            // A zombie counts as gone, though it wasn't reaped yet; a process that can't be examined doesn't.
            guard let processID = Int32(listener), processID != getpid(), !ProcessIdentity.mayLive(processID) else { continue }
            processes.directory.removeFile(name)
        }
    }
}
