import Foundation

/// A search that waits until the user has stopped typing, and in which the latest text wins.
///
/// ```swift
/// let search = SearchDebouncer { text in try await api.cities(named: text) } receive: { outcome in … }
/// // for each change of the text field:
/// Task { await search.search(text) }
/// ```
///
/// It is of the isolation domain in which its closures run.
public final class SearchDebouncer<Answer> {
    /// The result of a search.
    public enum Outcome {
        /// The answer for a text.
        case found(Answer, for: String)
        /// The search for a text has failed.
        case failed(any Error, for: String)
        /// The text is empty: everything is to be shown.
        case reset
    }

    private let delay: Duration
    private let clock: any Clock<Duration>
    private let find: (String) async throws -> Answer
    private let receive: (Outcome) -> Void
    private var number = 0

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - delay: the time without a further text that a search waits for. 0.4 s by default.
    ///   - clock: the clock that measures the delay.
    ///   - find: finds the answer for a text that is trimmed and not empty.
    ///   - receive: receives the outcome of the latest search. Answers of earlier ones are dropped.
    public init(
        delay: Duration = .milliseconds(400), clock: any Clock<Duration> = ContinuousClock(),
        find: @escaping (String) async throws -> Answer, receive: @escaping (Outcome) -> Void
    ) {
        self.delay = delay
        self.clock = clock
        self.find = find
        self.receive = receive
    }

    /// Searches for a text, without white space around it, once the delay is over; resets at once for an empty text.
    ///
    /// Returns when the search has ended, or early when a later one or a cancellation of the task has ended it.
    public func search(_ text: String) async {
        number += 1
        let own = number
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if text.isEmpty { return receive(.reset) }
        guard (try? await clock.sleep(for: delay)) != nil, own == number else { return }
        do {
            let answer = try await find(text)
            if isLatest(own) { receive(.found(answer, for: text)) }
        } catch {
            if isLatest(own) { receive(.failed(error, for: text)) }
        }
    }

    private func isLatest(_ own: Int) -> Bool { own == number && !Task.isCancelled }
}

@available(*, unavailable)
extension SearchDebouncer: Sendable {}

@available(*, unavailable)
extension SearchDebouncer.Outcome: Sendable {}
