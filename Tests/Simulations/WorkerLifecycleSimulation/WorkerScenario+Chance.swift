import SimulationSupport
import Supervision
import WorkerLifecycle

extension WorkerScenario {
    /// Creates the scenario of a seed.
    package init(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        self.seed = seed
        limits = Self.limits(&chance)
        startTimeout = chance.one(of: [.milliseconds(500), .seconds(2), .seconds(8), .seconds(20)])
        shutdown = chance.one(of: [.brutalKill, .timeout(.milliseconds(300)), .timeout(.seconds(5)), .infinity])
        spares = chance.one(of: [0, 0, 1, 2, 3])
        bucket = TokenBucket(rate: chance.one(of: [1, 2, 10]), burst: chance.one(of: [1, 1, 2, 8]))
        lag = chance.one(of: [0, 0, 0, 300, 4_000])
        rarity = chance.one(of: [0, 0, 16, 40])
        // Not from the chance, so that this draw changes no other.
        limits.restartsSilentExecutor = SplitMix64.drawn(seed, 77) % 3 == 0
        steps = []
        var time = 0
        for _ in 0..<Int.random(in: 0...24, using: &chance) {
            time += chance.oneIn(4) ? 0 : Int.random(in: 0...chance.one(of: [1_000, 30_000, 300_000, 3_000_000]), using: &chance)
            steps.append(Step(number: steps.count, time: time, action: Self.action(&chance)))
        }
    }

    private static func limits(_ chance: inout SplitMix64) -> WorkerMachine.Limits {
        var limits = WorkerMachine.Limits()
        limits.link = .seconds(chance.one(of: [2, 10]))
        limits.firstLink = .seconds(chance.one(of: [5, 15]))
        limits.heartbeat = .seconds(chance.one(of: [1, 3]))
        limits.heartbeatTimeout = limits.heartbeat * chance.one(of: [3, 5])
        limits.departure = .seconds(chance.one(of: [4, 10]))
        if chance.oneIn(4) { limits.age = .milliseconds(Int.random(in: 1...20_000, using: &chance)) }
        if chance.oneIn(4) { limits.messages = Int.random(in: 1...20, using: &chance) }
        if chance.oneIn(4) { limits.memory = 1_000 }
        limits.memoryLimit = limits.memory.map { $0 * 4 }
        return limits
    }

    private static func action(_ chance: inout SplitMix64) -> Action {
        let target: Target = chance.oneIn(3) ? .spare : .life
        switch Int.random(in: 0..<100, using: &chance) {
        case 0..<16: return .stop(stop(&chance), comesBack: !chance.oneIn(4))
        case 16..<22: return .start
        case 22..<29: return .pause(!chance.oneIn(3))
        case 29..<35: return .messages(Int.random(in: 1...20, using: &chance))
        case 35..<38: return .memory(chance.one(of: [10, 1_001, 4_001]))
        case 38..<47: return .exit(target, chance.one(of: [.exited(code: 1), .exited(code: 78), .signaled(9), .signaled(11), .normal]))
        case 47..<50: return .hang(target)
        case 50..<54: return .finish(chance.one(of: [.normal, .failed("x")]))
        case 54..<64: return .cutLink(target)
        case 64..<67: return .dialAgain(target)
        case 67..<68: return .strangerDials(target)
        case 68..<71: return .failSpawns(for: Int.random(in: 1_000...3_000_000, using: &chance))
        case 71..<74: return .delayAnnouncements(for: Int.random(in: 1_000...8_000_000, using: &chance))
        case 74..<77: return .delayParent(for: Int.random(in: 1_000...12_000_000, using: &chance))
        case 77..<90: return .nextWorker(chance.one(of: Trait.allCases))
        case 90..<92: return .discardSpare
        case 92..<94: return .ageSpare
        case 94..<96: return .fill
        case 96..<97: return .closePool
        default: return .wake
        }
    }

    private static func stop(_ chance: inout SplitMix64) -> Shutdown {
        let milliseconds = chance.one(of: [1, 400, 1_500, 4_000, 10_000])
        return chance.one(of: [.brutalKill, .infinity, .timeout(.milliseconds(milliseconds)), .draining(.milliseconds(milliseconds))])
    }
}
