import ArgumentParser

/// The option of commands that look at one node of a cluster.
struct NodeOption: ParsableArguments {
    @Option(help: ArgumentHelp("A node of the cluster, as `nodes` shows it. Default: the daemon's own.", valueName: "name"))
    var node: String?

    func validate() throws {
        if node == "" { throw ValidationError("--node is empty; `coordinatorctl nodes` lists the nodes") }
    }
}
