/*
** Errors: every function that can fail returns false (or NULL) and fills in an Error that the caller
** passed. Nothing is global, so errors are safe on any thread.
*/
#ifndef XLA_BASE_ERROR_H
#define XLA_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* The canonical status codes that XLA uses (absl::StatusCode), with the same numbers. ORDER STATUS */
typedef enum StatusCode {
  STATUS_OK = 0,
  STATUS_CANCELLED = 1,
  STATUS_UNKNOWN = 2,
  STATUS_INVALID_ARGUMENT = 3,
  STATUS_DEADLINE_EXCEEDED = 4,
  STATUS_NOT_FOUND = 5,
  STATUS_ALREADY_EXISTS = 6,
  STATUS_PERMISSION_DENIED = 7,
  STATUS_RESOURCE_EXHAUSTED = 8,
  STATUS_FAILED_PRECONDITION = 9,
  STATUS_ABORTED = 10,
  STATUS_OUT_OF_RANGE = 11,
  STATUS_UNIMPLEMENTED = 12,
  STATUS_INTERNAL = 13,
  STATUS_UNAVAILABLE = 14,
} StatusCode;

enum { ERROR_OPERATION_SIZE = 64, ERROR_MESSAGE_SIZE = 2048 };

typedef struct Error {
  StatusCode code;
  int line, column;                     /* 1-based position in HLO text; 0 when there is no text */
  char operation[ERROR_OPERATION_SIZE]; /* HLO text name of the operation at fault, or "" */
  char message[ERROR_MESSAGE_SIZE];
} Error;

/* Fills `error` and returns false, so that `return error_set(...)` is the whole failure path.
** A message that is too long is truncated. `error` may be NULL. */
bool error_set(Error *error, StatusCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_setv(Error *error, StatusCode code, const char *format, va_list arguments);

/* As error_set, and names the operation: the message becomes "<operation>: <text>". */
bool error_set_op(Error *error, StatusCode code, const char *operation, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends text to the message, as far as it fits. */
void error_append(Error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "<operation>: " before the message of a function that does not know the operation. Line and column become 0. Returns
** false. */
bool error_name_op(Error *error, const char *operation);

/* Shorthand for the most frequent case. */
#define invalid_argument(error, operation, ...) \
  error_set_op(error, STATUS_INVALID_ARGUMENT, operation, __VA_ARGS__)

const char *status_code_name(StatusCode code); /* "INVALID_ARGUMENT" */

#endif
