/// What a coordinator's life begins with.
struct NodeParameters: Sendable {
    let type: CoordinatorType
    let configuration: ConfigurationValue
    let path: CoordinatorPath
    let incarnation: Incarnation
    let parent: Node?
    let runtime: RuntimeCore
    let startTimeout: Duration
    var inheritance = ChildInheritance()
}
