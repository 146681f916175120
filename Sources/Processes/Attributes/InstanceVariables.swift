/// The names of the variables by which the process of an instance knows which one it is.
package enum InstanceVariables {
    /// The number of the instance, from 1.
    package static let number = "COORDINATOR_INSTANCE"
    /// The number of all instances.
    package static let count = "COORDINATOR_INSTANCES"
}
