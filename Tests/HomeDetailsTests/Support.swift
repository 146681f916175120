import Coordinators
import Logging
import TestSupport
import Testing

extension Where {
    /// Options for a tree whose workers, if there are any, run the example's program.
    static var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = program.path
        options.logger.logLevel = .error
        return options
    }
}

let program = BuiltProgram("HomeDetails")
