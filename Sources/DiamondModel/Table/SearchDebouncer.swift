import Foundation

/// A search that waits until the user has stopped typing, and in which the latest text wins.
///
/// ```swift
/// let search = SearchDebouncer { text in try await api.cities(named: text) } receive: { outcome in … }
/// // for each change of the text field:
/// Task { await search.search(text) }
/// ```
///
/// It is of the isolation domain in which it is called.
public final class SearchDebouncer<Answer: Sendable> {
    /// The result of a search.
    public enum Outcome: Sendable {
        /// The answer for a text.
        case found(Answer, for: String)
        /// The search for a text has failed.
        case failed(any Error, for: String)
        /// The text is empty: everything is to be shown.
        case reset
    }

    private let delay: Duration
    private let clock: any Clock<Duration>
    private let find: @concurrent @Sendable (String) async throws -> Answer
    private let receive: (Outcome) -> Void
    private var number = 0
    /// The delay and the search for the latest text.
    private var latest: Task<Answer, any Error>?

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - delay: the time without a further text that a search waits for. 0.4 s by default.
    ///   - clock: the clock that measures the delay.
    ///   - find: finds the answer for a text that is trimmed and not empty. Runs outside the isolation domain.
    ///   - receive: receives the outcome of the latest search. Answers of earlier ones are dropped.
    public init(
        delay: Duration = .milliseconds(400), clock: any Clock<Duration> = ContinuousClock(),
        find: @escaping @concurrent @Sendable (String) async throws -> Answer, receive: @escaping (Outcome) -> Void
    ) {
        self.delay = delay
        self.clock = clock
        self.find = find
        self.receive = receive
    }

    /// Searches for a text, without white space around it, once the delay is over; resets at once for an empty text.
    ///
    /// A search cancels the earlier ones: the one that is called last is the latest. Returns when the search has ended, also
    /// by a cancellation, which `find` has to heed.
    public nonisolated(nonsending) func search(_ text: String) async {
        number += 1
        let own = number
        latest?.cancel()
        latest = nil
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if text.isEmpty { return receive(.reset) }
        let task = Task { [clock, delay, find] in
            try await clock.sleep(for: delay)
            try Task.checkCancellation()
            return try await find(text)
        }
        latest = task
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        guard own == number, !Task.isCancelled else { return }
        latest = nil
        switch result {
        case .success(let answer): receive(.found(answer, for: text))
        case .failure(let error): receive(.failed(error, for: text))
        }
    }
}

@available(*, unavailable)
extension SearchDebouncer: Sendable {}
