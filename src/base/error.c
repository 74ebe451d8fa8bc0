/* Fills in errors: see error.h. */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

bool error_setv(Error *error, StatusCode code, const char *format, va_list arguments) {
  if (!error) return false;
  error->code = code;
  error->line = error->column = 0;
  error->operation[0] = '\0';
  vsnprintf(error->message, sizeof error->message, format, arguments);
  return false;
}

bool error_set(Error *error, StatusCode code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  error_setv(error, code, format, arguments);
  va_end(arguments);
  return false;
}

bool error_set_op(Error *error, StatusCode code, const char *operation, const char *format, ...) {
  if (!error) return false;
  error->code = code;
  error->line = error->column = 0;
  snprintf(error->operation, sizeof error->operation, "%s", operation);
  int used = snprintf(error->message, sizeof error->message, "%s: ", operation);
  if (used >= (int)sizeof error->message) return false;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message + used, sizeof error->message - (size_t)used, format, arguments);
  va_end(arguments);
  return false;
}

void error_append(Error *error, const char *format, ...) {
  if (!error) return;
  size_t used = strlen(error->message);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message + used, sizeof error->message - used, format, arguments);
  va_end(arguments);
}

bool error_name_op(Error *error, const char *operation) {
  if (!error) return false;
  char message[ERROR_MESSAGE_SIZE];
  snprintf(message, sizeof message, "%s", error->message);
  return error_set_op(error, error->code, operation, "%s", message);
}

const char *status_code_name(StatusCode code) {
  static const char *const names[] = {
      [STATUS_OK] = "OK",
      [STATUS_CANCELLED] = "CANCELLED",
      [STATUS_UNKNOWN] = "UNKNOWN",
      [STATUS_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
      [STATUS_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
      [STATUS_NOT_FOUND] = "NOT_FOUND",
      [STATUS_ALREADY_EXISTS] = "ALREADY_EXISTS",
      [STATUS_PERMISSION_DENIED] = "PERMISSION_DENIED",
      [STATUS_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
      [STATUS_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
      [STATUS_ABORTED] = "ABORTED",
      [STATUS_OUT_OF_RANGE] = "OUT_OF_RANGE",
      [STATUS_UNIMPLEMENTED] = "UNIMPLEMENTED",
      [STATUS_INTERNAL] = "INTERNAL",
      [STATUS_UNAVAILABLE] = "UNAVAILABLE",
  };
  size_t index = (size_t)code;
  return index < sizeof names / sizeof *names ? names[index] : "UNKNOWN";
}
