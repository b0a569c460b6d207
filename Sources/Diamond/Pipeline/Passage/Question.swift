import Foundation
import HTTPTypes

/// What a server is asked for a passage: for what it has, or whether what is stored is still right.
///
/// A class, because every step to the answer has it.
final class Question: Sendable {
    let passage: Passage
    /// What an answer takes the place of.
    let stored: StoredAnswer?
    /// Whether the validators of what is stored go along.
    let isConditional: Bool
    /// Whether somebody waits for the answer.
    let isAwaited: Bool
    /// How many ``Pipeline/revocations`` there were when the cache was asked.
    let found: Int
    /// How often credentials had been made anew when its own were filled in.
    let refreshes: Int
    /// Whether what makes its own credentials anew asks it, and takes a 401 for an answer.
    let isOfRefresh: Bool

    init(
        passage: Passage,
        stored: StoredAnswer? = nil,
        isConditional: Bool = false,
        isAwaited: Bool = true,
        found: Int = 0,
        refreshes: Int = 0,
        isOfRefresh: Bool = false
    ) {
        (self.passage, self.stored) = (passage, stored)
        (self.isConditional, self.isAwaited, self.found) = (isConditional, isAwaited, found)
        (self.refreshes, self.isOfRefresh) = (refreshes, isOfRefresh)
    }

    var validators: StoredResponse? { isConditional ? stored?.response : nil }

    /// The same without conditions, its time begun.
    func unconditional(since begin: Int64?) -> Question {
        Question(passage: passage.begun(at: begin), stored: stored)
    }

    /// The same, with nothing stored.
    var unanswered: Question { Question(passage: passage, isAwaited: isAwaited) }

    /// The same, with what is stored marked stale.
    var outdated: Question { with(stored?.outdated, refreshes, isOfRefresh: isOfRefresh) }

    /// The same with credentials of this age.
    func dated(_ refreshes: Int, isOfRefresh: Bool) -> Question {
        with(stored, refreshes, isOfRefresh: isOfRefresh)
    }

    private func with(_ stored: StoredAnswer?, _ refreshes: Int, isOfRefresh: Bool) -> Question {
        Question(
            passage: passage, stored: stored, isConditional: isConditional, isAwaited: isAwaited, found: found,
            refreshes: refreshes, isOfRefresh: isOfRefresh)
    }

    /// What others must ask to share the flight; `nil` where nobody can.
    ///
    /// Only what is safe and may be answered from the cache: `reload` and `noStore` ask for an exchange of their own, and
    /// so do ranges and conditions of the caller, what is sent with a credential but without an identity, what goes into a
    /// sink, what is kept to be sent later, and what a shared exchange waits for. So does what would bring a response to one
    /// that has no body beside it.
    func flightKey(_ request: TransportRequest, _ retry: RetryPolicy) -> FlightKey? {
        let asker = passage.asker
        guard let identity = passage.identity, passage.policy.mode != .reload, !isOfRefresh,
            asker.sink == nil, asker.gate == nil, !asker.isInFlight, !passage.marks.contains(.asksAlone),
            stored?.response.isWhole ?? true
        else { return nil }
        return FlightKey(
            identity.key,
            request,
            retry: retry,
            bodyLimit: passage.bodyLimit,
            lane: passage.place.lane,
            tags: passage.tags
        )
    }
}
