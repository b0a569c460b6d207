/// Why a text is no URL that can be called.
struct MalformedURL: Error, Hashable {
    /// The mistake, its place, and the remedy, without secrets.
    var message: String
}
