/// A place in asynchronous code that a test waits for, and that waits for the test.
package final class Checkpoint: Sendable {
    private let isReached = Gate()
    private let isOpen = Gate()

    package init() {}

    /// Waits until the test opens the checkpoint; cancellation does not open it.
    package func pass() async {
        isReached.open()
        await isOpen.wait()
    }

    /// Returns when the place is reached.
    package func reached() async { await isReached.wait() }

    package func open() { isOpen.open() }
}
