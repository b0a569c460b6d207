/// The lanes through which jobs go out.
package protocol JobLanes: Sendable {
    /// Those in which something may begin: only their jobs are claimed.
    var unpaused: ReplayTable.Lanes { get }

    /// An element whenever that may have changed. Each call brings a sequence of its own.
    var pauseChanges: AsyncStream<Void> { get }
}
