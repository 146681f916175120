import ConcurrencySupport
import Logging
import Processes

/// The programs of the former program in this process, and those that a killed one has left in the directory.
extension RuntimeCore {
    /// Whether a process of a former root, or of the former program in this process, goes on at a path, and waits to be taken over.
    func hasFormerLife(at path: CoordinatorPath) -> Bool {
        if inheritance?.hasProgram(at: path) == true { return true }
        guard hasOrphans, let orphans = orphans.withLock({ $0 }), orphans.areStartsAwaited else { return false }
        return orphans.haveLived(at: path)
    }

    /// Ends the programs of a former process, or of the former program in this process, that no start has taken over.
    func endUnclaimedPrograms() async { await end(inheritance?.takeRest() ?? [], because: "nothing starts it any more") }

    func end(_ programs: [RuntimeHeritage.Program], because reason: String) async {
        await withDiscardingTaskGroup { group in
            for program in programs { group.addTask { await self.end(program, because: reason) } }
        }
    }

    /// Ends a program that isn't taken over, in the way in which it was to be stopped, and returns when nothing is left of it.
    func end(_ program: RuntimeHeritage.Program, because reason: String) async {
        logger.notice(
            "a program of the former daemon is ended",
            metadata: [
                "coordinator.path": "\(program.path)", "child.pid": "\(program.process.identity.processID)", "reason": "\(reason)",
            ]
        )
        let receivers = spawner.output.receivers(
            CoordinatorPath(program.path) ?? .root,
            program.incarnation,
            program.process.identity.processID
        )
        var isForeign = true
        if let process = try? await spawner.spawner.adopt(program.process, killsGroupAtExit: false, receivers) {
            isForeign = process.isAdopted
            let grace = program.stopMilliseconds.map { Duration.milliseconds($0) } ?? .seconds(5)
            let signal = program.stopSignal.map { Signal(rawValue: $0) } ?? .terminate
            let (end, exited) = (ContinuousClock.now + grace, OneShot<Void>())
            process.onExit { _ in exited.settle() }
            try? process.send(signal)
            // One that is stopped by SIGSTOP goes on to its end.
            try? process.sendToGroup(.continue)
            // As at every end of a program, the others have what is left of the time.
            if await exited.value(before: .now + grace) != nil {
                _ = await program.family.terminate(by: signal, hasToldGroup: false, until: end)
            } else {
                _ = await process.terminate(grace: .zero)
            }
        }
        await endRest(of: program, isForeign: isForeign)
    }

    /// Ends what a program has left that has ended.
    ///
    /// - Parameter isForeign: Whether the process wasn't this one's child: its orphans don't come here, and are sought everywhere.
    func endRest(of program: RuntimeHeritage.Program, isForeign: Bool) async {
        await end([program.family], areRemembered: isForeign)
        if isForeign, inheritance?.hadEnded(program) != true { await endStrays(of: program.family) }
        for file in program.process.files { directory.removeFile(String(file.split(separator: "/").last ?? "")) }
        await processEnded(program.family)
    }

    /// Takes copies of the listening sockets of programs that a killed process has left, so that a restart refuses no connection.
    func takeSockets(of programs: [RuntimeHeritage.Program]) {
        for program in programs {
            guard let holdings = program.sockets, !holdings.isEmpty else { continue }
            let (sockets, failures) = ListeningSocket.take(holdings, from: program.process.identity)
            inheritance?.keep(sockets)
            for failure in failures {
                logger.warning(
                    "the socket of an adopted program can't be shared: its next life, or another program, may find the address in use",
                    metadata: [
                        "coordinator.path": "\(program.path)", "child.pid": "\(program.process.identity.processID)",
                        "address": "\(failure.address)", "error": "\(failure.error)",
                    ]
                )
            }
        }
    }
}
