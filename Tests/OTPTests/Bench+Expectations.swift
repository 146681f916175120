import Coordinators
import Fixtures
import TestSupport
import Testing

extension Bench {
    /// The children in start order, as `a:1 b:- c:2`; nil when the supervisor is gone.
    func picture(of key: String = "") async -> String? {
        await children(of: key)?.map(\.description).joined(separator: " ")
    }

    /// The children's lives so far, as `a+ b+ b-`.
    func story() async -> String {
        await log.filter { !$0.key.isEmpty && !$0.key.contains("/") }.compactMap(\.sign).joined(separator: " ")
    }

    /// The reasons of all ends of a child, in order.
    func ends(of key: String) async -> [ExitReason] {
        await log.filter { $0.key == key }.compactMap(\.end)
    }

    /// Starts children, all of which must become ready.
    func run(_ plans: Plan..., sourceLocation: SourceLocation = #_sourceLocation) async {
        for plan in plans {
            let outcome = await start(plan)
            #expect(outcome == .done, "\(plan.key)", sourceLocation: sourceLocation)
        }
    }

    /// Ends the supervisor, and expects it to end as it was told to.
    func shutDown(sourceLocation: SourceLocation = #_sourceLocation) async {
        await beginShutDown()
        await ended(sourceLocation: sourceLocation) { $0 == .shutdown }
    }

    func becomes(_ picture: String, of key: String = "", sourceLocation: SourceLocation = #_sourceLocation) async {
        let isSo = await eventually { await self.picture(of: key) == picture }
        guard !isSo else { return }
        Issue.record("it is '\(await self.picture(of: key) ?? "gone")', not '\(picture)'", sourceLocation: sourceLocation)
    }

    /// Expects a supervisor to have so many children, and so many of them to be ready.
    func counts(_ count: Int, active: Int, of key: String = "", sourceLocation: SourceLocation = #_sourceLocation) async {
        let isSo = await eventually {
            guard let children = await self.children(of: key) else { return false }
            return children.count == count && children.count { $0.isReady } == active
        }
        guard !isSo else { return }
        Issue.record("it is '\(await self.picture(of: key) ?? "gone")'", sourceLocation: sourceLocation)
    }

    func tells(_ story: String, sourceLocation: SourceLocation = #_sourceLocation) async {
        let isSo = await eventually { await self.story() == story }
        guard !isSo else { return }
        Issue.record("it is '\(await self.story())', not '\(story)'", sourceLocation: sourceLocation)
    }

    /// Expects a child, or with the empty key the supervisor, to have ended so often, and the last time for a reason that fits.
    ///
    /// - Parameter times: The expected number; nil: any, since an interrupted wait for siblings is reported like an end.
    func ended(
        _ key: String = "",
        times: Int? = 1,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ fits: (ExitReason) -> Bool
    ) async {
        let isSo = await eventually {
            let ends = await self.ends(of: key)
            return ends.count == times ?? ends.count && ends.last.map(fits) == true
        }
        guard !isSo else { return }
        Issue.record("'\(key)' has ended so: \(await self.ends(of: key))", sourceLocation: sourceLocation)
    }

    /// Expects the supervisor to have given up, which is an abnormal end.
    func escalates(sourceLocation: SourceLocation = #_sourceLocation) async {
        await ended(sourceLocation: sourceLocation) { reason in
            if case .escalated = reason { true } else { false }
        }
    }

    /// Expects the supervisor to have ended as its significant children have.
    func endsOfItself(sourceLocation: SourceLocation = #_sourceLocation) async {
        await ended(sourceLocation: sourceLocation) { $0 == .shutdown }
    }

    /// Waits at most twenty seconds, or as many steps of a clock that is moved by hand.
    func eventually(_ condition: () async -> Bool) async -> Bool {
        guard let machine = self as? MachineBench else { return await TestSupport.eventually(within: .seconds(20), condition) }
        // Real time for what runs beside, such as requests that wait; the machine's own passes in steps.
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if await condition() { return true }
            await machine.pass()
        }
        return false
    }
}
