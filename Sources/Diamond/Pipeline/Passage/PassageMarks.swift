/// What has become of a passage on its way.
struct PassageMarks: OptionSet, Sendable {
    let rawValue: UInt8

    /// Nobody knows whose its answer is, or to what: of a body that is made while it is sent, no key tells.
    static let nobodys = PassageMarks(rawValue: 1)
    /// A redirect has led away from the origin that was asked.
    static let foreign = PassageMarks(rawValue: 2)
    /// A redirect has taken credentials away: what is asked for without them is no answer to those who ask with them, though
    /// an identity makes one key of both.
    static let stripped = PassageMarks(rawValue: 4)
    /// It has waited for an exchange that turned out to be another's, which has counted its miss.
    static let asksAlone = PassageMarks(rawValue: 8)
    /// What is stored for it cannot be read: it is as good as nothing.
    static let unreadable = PassageMarks(rawValue: 16)
    /// A server was asked for it, which has counted its miss, and what that has confirmed could not be read.
    static let wasAsked = PassageMarks(rawValue: 32)
    /// It is collected behind what went into a sink.
    static let behindSink = PassageMarks(rawValue: 64)
    /// A redirect has led here.
    static let redirected = PassageMarks(rawValue: 128)

    /// Those that stay over a redirect.
    static let ofAllHops: PassageMarks = [.foreign, .stripped]
}
