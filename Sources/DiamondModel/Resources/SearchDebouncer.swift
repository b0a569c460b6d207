import Foundation

/// A search that waits until the user stops typing. Only the latest search delivers a result.
///
/// ```swift
/// let search = SearchDebouncer { text in try await api.cities(named: text) } receive: { outcome in … }
/// // for each change of the text field:
/// Task { await search.search(text) }
/// ```
///
/// It belongs to the isolation domain in which it is called.
public final class SearchDebouncer<Answer: Sendable> {
    /// The result of a search.
    public enum SearchResult: Sendable {
        /// The search for a text has succeeded.
        case found(Answer, for: String)
        /// The search for a text has failed.
        case failed(any Error, for: String)
        /// The text is empty: show everything.
        case reset
    }

    private let delay: Duration
    private let clock: any Clock<Duration>
    private let find: @concurrent @Sendable (String) async throws -> Answer
    private let receive: (SearchResult) -> Void
    private var number = 0
    /// The delay and the search for the latest text.
    private var latest: Task<Answer, any Error>?

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - delay: The time to wait for further typing. 0.4 s by default.
    ///   - clock: The clock that measures the delay.
    ///   - find: Returns the result for a trimmed text that is not empty. Runs outside the isolation domain.
    ///   - receive: Called with the result of the latest search. Results of earlier searches are dropped.
    public init(
        delay: Duration = .milliseconds(400), clock: any Clock<Duration> = ContinuousClock(),
        find: @escaping @concurrent @Sendable (String) async throws -> Answer, receive: @escaping (SearchResult) -> Void
    ) {
        self.delay = delay
        self.clock = clock
        self.find = find
        self.receive = receive
    }

    /// Searches for a trimmed text after the delay. Resets at once for an empty text.
    ///
    /// Cancels earlier searches. Returns when the search has ended or was canceled. `find` has to handle cancellation.
    public nonisolated(nonsending) func search(_ text: String) async {
        number += 1
        let searchNumber = number
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
        guard searchNumber == number, !Task.isCancelled else { return }
        latest = nil
        switch result {
        case .success(let answer): receive(.found(answer, for: text))
        case .failure(let error): receive(.failed(error, for: text))
        }
    }
}

@available(*, unavailable)
extension SearchDebouncer: Sendable {}
