/// The lanes in which jobs are sent.
package protocol JobLanes: Sendable {
    /// The lanes that are not paused. Only their jobs are claimed.
    var unpaused: ReplayTable.Lanes { get }

    /// A sequence with an element whenever ``unpaused`` may have changed. Each call returns its own sequence.
    var pauseChanges: AsyncStream<Void> { get }
}
