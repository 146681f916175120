/// A coordinator with a stack of pages of its own, which those below it share.
///
/// Without one the root's stack is everybody's. A child that shows the stack's first page and would like to be dismissed takes this
/// coordinator with it: the request goes on to its parent.
public protocol NavigationCoordinator: Coordinator {}
