import Coordinators
import DaemonConfiguration
import Glibc
import Processes
import Supervision

extension ProgramSpecification {
    /// Creates the specification of a program as the file describes it.
    ///
    /// - Parameters:
    ///   - instance: The number among the instances of a child; the program gets it in variables that it hasn't itself.
    ///   - fence: The epoch under which this node owns the subtree; the program gets it as `COORDINATOR_FENCE`.
    init(_ program: ConfiguredProgram, instance: InstanceNumber?, fence: UInt64?) {
        var environment = program.environment.merging(instance?.variables ?? [:]) { own, _ in own }
        if let fence { environment["COORDINATOR_FENCE"] = "\(fence)" }
        self.init(command: program.command, environment: environment, directory: program.directory)
        environmentFiles = program.process.environmentFiles
        inheritsEnvironment = program.process.inheritsEnvironment
        attributes = program.process.attributes
        recycling = Recycling(program.process.recycling)
        stopSignal = program.settings.stopSignal
        normalExitCodes = program.settings.exitCodes
        startSeconds = program.settings.startSeconds ?? .zero
        stopsGroup = program.settings.stopsGroup
        startTimeout = program.settings.startTimeout
        readiness = program.settings.readiness
        watchdog = program.settings.watchdog
        standardInput = program.settings.standardInput
        memoryLimit = program.settings.memoryLimit
        health = program.settings.health
        hooks = program.settings.hooks
        sockets = GivenSockets(program.settings.sockets)
        isOneshot = program.isOneshot
        // A subtree of a cluster ends with its node, because another one starts it; what runs once is run again by the next daemon.
        outlivesRuntime = fence == nil && !isOneshot && program.settings.outlives(getpid())
    }
}

extension RestartLimits {
    /// The time within which the end of a program is a failed start, if the file has none.
    private static let usualLife = Duration.seconds(1)

    /// Creates the limits of a program's restarts: what counts are its failures, and it isn't given up unless the file has an intensity.
    init(_ limits: RestartLimits?, of program: ConfiguredProgram) {
        self = limits ?? RestartLimits()
        counts = counts ?? .failures
        // A program that the file gives a time isn't ready before.
        shortestLife = program.settings.startSeconds == nil ? Self.usualLife : nil
        finalExitCodes = program.settings.finalExitCodes
    }
}

extension Recycling {
    /// Creates the rules that the file has; none when it has none.
    init(_ settings: RecyclingSettings?) {
        self.init(age: settings?.age, messages: settings?.messages, memory: settings?.memory)
    }
}
