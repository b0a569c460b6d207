import Foundation

/// https://www.rfc-editor.org/rfc/rfc9110.html#section-5.6.7
enum HTTPDate {
    private static let preferred = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    private static let obsolete = ["EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy"]

    static func text(_ date: Date) -> String {
        formatter(preferred).string(from: date)
    }

    /// Nil for what is no date in any of the three forms: a condition with it is ignored.
    static func date(_ text: String) -> Date? {
        ([preferred] + obsolete).lazy.compactMap { formatter($0).date(from: text) }.first
    }

    private static func formatter(_ format: String) -> DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = format
        return formatter
    }
}
