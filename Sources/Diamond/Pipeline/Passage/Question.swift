import Foundation
import HTTPTypes

/// What a server is asked for a passage: for what it has, or whether what is stored is still right.
struct Question: Sendable {
    var passage: Passage
    /// What an answer takes the place of.
    var stored: StoredResponse?
    /// Of its body, where that is handed out in pieces.
    var reader = Boxed<BodyReader>.none
    /// Whether the validators of what is stored go along.
    var isConditional = false
    /// Whether somebody waits for the answer.
    var isAwaited = true
    /// How many ``Pipeline/revocations`` there were when the cache was asked.
    var found = 0
    /// How often credentials had been made anew when its own were filled in.
    var refreshes = 0
    /// Whether what makes its own credentials anew asks it, and takes a 401 for an answer.
    var isOfRefresh = false

    var validators: StoredResponse? { isConditional ? stored : nil }

    /// The same without conditions.
    var unconditional: Question { Question(passage: passage, stored: stored) }

    /// The same, with nothing stored.
    var unanswered: Question { Question(passage: passage, isAwaited: isAwaited) }

    /// What others must ask to share the flight; `nil` where nobody can.
    ///
    /// Only what is safe and may be answered from the cache: `reload` and `noStore` ask for an exchange of their own, and
    /// so do ranges and conditions of the caller, what is sent with a credential but without an identity, what goes into a
    /// sink, what is kept to be sent later, and what a shared exchange waits for. So does what would bring a response to one
    /// that has no body beside it.
    func flightKey(_ request: TransportRequest, _ retry: RetryPolicy) -> FlightKey? {
        guard let identity = passage.identity, passage.policy.mode != .reload, !isOfRefresh,
            passage.asker.sink == nil, passage.asker.gate == nil, !passage.asker.isInFlight, !passage.asksAlone,
            stored?.isWhole ?? true
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
