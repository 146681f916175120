import Coordinators
import Logging

func optionsWithBootstrap() -> CoordinatorRuntime.Options {
    // snippet: bootstrap
    var options = CoordinatorRuntime.Options()
    options.bootstrap = { path in
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.metadata["process"] = "\(path)"
            return handler
        }
    }
    // end
    return options
}
