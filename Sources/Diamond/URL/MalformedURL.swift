/// Why a text is no URL that can be called.
struct MalformedURL: Error, Hashable {
    /// What is wrong, where, and what to do, without secrets.
    var message: String
}
