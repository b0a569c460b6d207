import Synchronization

/// A wait that happens once, at the first place that asks for it.
///
/// The wait before a response is the middleware's, but a route whose request must count as running meanwhile
/// waits itself.
final class Pause: Sendable {
    private let duration: Mutex<Duration?>

    init(_ duration: Duration?) {
        self.duration = Mutex(duration)
    }

    func wait() async throws {
        guard let duration = take() else { return }
        try await Task.sleep(for: duration)
    }

    private func take() -> Duration? {
        duration.withLock { duration in
            defer { duration = nil }
            return duration
        }
    }
}
