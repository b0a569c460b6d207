/// The lanes through which jobs go out.
package protocol JobLanes: Sendable {
    /// The lanes that are not paused. Only their jobs are claimed.
    var unpaused: ReplayTable.Lanes { get }

    /// An element whenever that may have changed. Each call brings a sequence of its own.
    var pauseChanges: AsyncStream<Void> { get }
}
