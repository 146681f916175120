import ConcurrencySupport
import Logging
import Processes

/// The programs of the former program in this process.
extension RuntimeCore {
    /// The time that a program is given to end that no start has taken over.
    private static let endOfUnclaimed = Duration.seconds(5)

    /// Whether a process of a former root, or of the former program in this process, goes on at a path, and waits to be taken over.
    func hasFormerLife(at path: CoordinatorPath) -> Bool {
        if inheritance?.hasProgram(at: path) == true { return true }
        guard hasOrphans, let orphans = orphans.withLock({ $0 }), orphans.areStartsAwaited else { return false }
        return orphans.haveLived(at: path)
    }

    /// Ends the programs of the former program in this process that no start has taken over.
    func endUnclaimedPrograms() async {
        for program in inheritance?.takeRest() ?? [] { await end(program, because: "nothing starts it any more") }
    }

    /// Ends a program that isn't taken over, and returns when nothing is left of it.
    func end(_ program: RuntimeHeritage.Program, because reason: String) async {
        logger.notice(
            "a program of the former daemon is ended",
            metadata: [
                "coordinator.path": "\(program.path)", "child.pid": "\(program.process.identity.processID)", "reason": "\(reason)",
            ]
        )
        let nowhere: @Sendable ([UInt8]) -> Void = { _ in }
        let receivers = KeptReceivers(output: nowhere, errors: nowhere, channel: nowhere, datagrams: nowhere)
        if let process = try? await spawner.spawner.adopt(program.process, killsGroupAtExit: false, receivers) {
            let (end, exited) = (ContinuousClock.now + Self.endOfUnclaimed, OneShot<Void>())
            process.onExit { _ in exited.settle() }
            try? process.send(.terminate)
            try? process.sendToGroup(.continue)
            // As at every end of a program, the others have what is left of the time.
            if await exited.value(before: .now + Self.endOfUnclaimed) != nil {
                _ = await program.family.terminate(by: .terminate, hasToldGroup: false, until: end)
            } else {
                _ = await process.terminate(grace: .zero)
            }
        }
        await end([program.family])
        await processEnded(program.family)
    }
}
